#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ropewalk {

// 128 bits (XXH3) that tell whether two stretches of bytes are the same: no protection against
// somebody who wants them to look so, but as fast as memory.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const ContentHash&) const = default;
  std::string hex() const;
};

ContentHash hash_bytes(const void* data, size_t size);

// Large stretches are hashed in chunks, so that several threads can share the work: the hash of the
// whole is that of its chunks' hashes.
inline constexpr int64_t kHashChunk = int64_t{4} << 20;
using Stretch = std::span<const std::byte>;
// Calls `work` for every number below `count`, in any order, on as many threads as it likes.
using ChunkRunner = std::function<void(size_t count, const std::function<void(size_t)>& work)>;
// Called by the threads for each chunk once it is hashed: of which stretch, where it begins, how
// many bytes it has.
using ChunkDone = std::function<void(size_t stretch, int64_t begin, int64_t bytes)>;

// All cores, until a signal ends it.
void run_chunks(size_t count, const std::function<void(size_t)>& work);

std::vector<ContentHash> hash_stretches(std::span<const Stretch> stretches,
                                        const ChunkRunner& run = run_chunks,
                                        const ChunkDone& done = {});
ContentHash hash_stretch(Stretch stretch, const ChunkRunner& run = run_chunks);

// The CRC-32 of zip archives.
uint32_t crc32_of(Stretch stretch, const ChunkRunner& run = run_chunks);

}  // namespace ropewalk
