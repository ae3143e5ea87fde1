#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ropewalk {

// A 128-bit hash (XXH3) that tells whether two spans of bytes are equal. It is as fast as memory,
// but gives no protection against somebody who constructs a collision.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const ContentHash&) const = default;
  std::string hex() const;
};

ContentHash hash_bytes(const void* data, size_t size);

// Large spans are hashed in chunks, so that several threads can share the work: the hash of a span
// is the hash of its chunks' hashes.
inline constexpr int64_t kHashChunk = int64_t{4} << 20;
using Stretch = std::span<const std::byte>;
// Calls `work` for every number below `count`, in any order, on as many threads as the runner
// likes.
using ChunkRunner = std::function<void(size_t count, const std::function<void(size_t)>& work)>;
// The threads call it for each chunk that they have hashed, with the span's index, the chunk's
// first byte and its number of bytes.
using ChunkDone = std::function<void(size_t stretch, int64_t begin, int64_t bytes)>;

// Runs the work on all cores and stops where a signal arrives.
void run_chunks(size_t count, const std::function<void(size_t)>& work);

std::vector<ContentHash> hash_stretches(std::span<const Stretch> stretches,
                                        const ChunkRunner& run = run_chunks,
                                        const ChunkDone& done = {});
ContentHash hash_stretch(Stretch stretch, const ChunkRunner& run = run_chunks);

// The CRC-32 that zip archives use.
uint32_t crc32_of(Stretch stretch, const ChunkRunner& run = run_chunks);

}  // namespace ropewalk
