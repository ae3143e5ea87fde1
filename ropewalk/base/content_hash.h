#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
inline int64_t hash_chunks(int64_t bytes) { return (bytes + kHashChunk - 1) / kHashChunk; }
ContentHash hash_chunk(const std::byte* data, int64_t bytes, int64_t chunk);
ContentHash join_chunks(std::span<const ContentHash> chunks);

}  // namespace ropewalk
