#include "ropewalk/base/content_hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace ropewalk {

std::string ContentHash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

ContentHash hash_bytes(const void* data, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return {hash.low64, hash.high64};
}

ContentHash hash_chunk(const std::byte* data, int64_t bytes, int64_t chunk) {
  const int64_t begin = chunk * kHashChunk;
  return hash_bytes(data + begin, static_cast<size_t>(std::min(kHashChunk, bytes - begin)));
}

ContentHash join_chunks(std::span<const ContentHash> chunks) {
  return hash_bytes(chunks.data(), chunks.size_bytes());
}

}  // namespace ropewalk
