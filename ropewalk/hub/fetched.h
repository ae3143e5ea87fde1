#pragma once

#include <filesystem>

namespace ropewalk {

// Which blobs of a cache this program downloaded. The cache is shared with other programs, whose
// blobs are not ours to remove. A note for each lies beside the blobs,
//
//   models--org--name/.ropewalk/ETAG            inode, size and time of the blob
//
// where it disappears with the repository, and where other programs do not look. It holds for that
// very file: once another program has downloaded the blob anew, or copied the cache, it does not.

// Notes that `bytes`, which will be renamed to `blob`, were downloaded. Without the note, as where
// the disk is full, they count as somebody else's.
void note_fetched(const std::filesystem::path& blob, const std::filesystem::path& bytes);
// Whether this program, run by this user, downloaded a blob. One that is a link was not.
bool was_fetched(const std::filesystem::path& blob);
void forget_fetched(const std::filesystem::path& blob);

}  // namespace ropewalk
