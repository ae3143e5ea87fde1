#pragma once

#include <filesystem>

namespace ropewalk {

// Remembers which blobs of a cache this program downloaded: the cache is shared with other
// programs, whose blobs it must not remove. There is a note for each blob,
//
//   models--org--name/.ropewalk/ETAG            inode, size and time of the blob
//
// in a folder that disappears with the repository and that other programs do not read. The note is
// valid for that file only: after another program downloads the blob again or copies the cache, the
// note is void.

// Notes that this program downloaded `bytes`, which will be renamed to `blob`. Without the note
// (for example where the disk is full) the blob counts as somebody else's.
void note_fetched(const std::filesystem::path& blob, const std::filesystem::path& bytes);
// Whether this program, run by this user, downloaded a blob. A link never counts as downloaded.
bool was_fetched(const std::filesystem::path& blob);
void forget_fetched(const std::filesystem::path& blob);

}  // namespace ropewalk
