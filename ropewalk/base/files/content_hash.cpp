#include "ropewalk/base/files/content_hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <thread>

#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {

std::string ContentHash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

ContentHash hash_bytes(const void* data, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return {hash.low64, hash.high64};
}

void run_chunks(size_t count, const std::function<void(size_t)>& work) {
  run_parallel(count, [&](size_t i) {
    throw_if_interrupted();
    work(i);
  });
}

std::vector<ContentHash> hash_stretches(std::span<const Stretch> stretches, const ChunkRunner& run,
                                        const ChunkDone& done) {
  struct Chunk {
    size_t stretch;
    size_t begin;
  };
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < stretches.size(); ++i) {
    for (size_t begin = 0; begin < stretches[i].size(); begin += kHashChunk)
      chunks.push_back({i, begin});
  }
  std::vector<ContentHash> hashes(chunks.size());
  run(chunks.size(), [&](size_t i) {
    const auto [stretch, begin] = chunks[i];
    const size_t size = std::min<size_t>(kHashChunk, stretches[stretch].size() - begin);
    hashes[i] = hash_bytes(stretches[stretch].data() + begin, size);
    if (done) done(stretch, static_cast<int64_t>(begin), static_cast<int64_t>(size));
  });
  std::vector<ContentHash> whole;
  const ContentHash* first = hashes.data();
  for (const Stretch& stretch : stretches) {
    const size_t count = (stretch.size() + kHashChunk - 1) / kHashChunk;
    whole.push_back(hash_bytes(first, count * sizeof(ContentHash)));
    first += count;
  }
  return whole;
}

ContentHash hash_stretch(Stretch stretch, const ChunkRunner& run) {
  return hash_stretches(std::span(&stretch, 1), run).front();
}

uint32_t crc32_of(Stretch stretch, const ChunkRunner& run) {
  constexpr size_t kChunk = kHashChunk;
  std::vector<uLong> sums((stretch.size() + kChunk - 1) / kChunk);
  const auto chunk = [&](size_t i) {
    return stretch.subspan(i * kChunk, std::min(kChunk, stretch.size() - i * kChunk));
  };
  run(sums.size(), [&](size_t i) {
    sums[i] = ::crc32_z(0, reinterpret_cast<const Bytef*>(chunk(i).data()), chunk(i).size());
  });
  uLong whole = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    whole = ::crc32_combine(whole, sums[i], static_cast<z_off_t>(chunk(i).size()));
  }
  return static_cast<uint32_t>(whole);
}

}  // namespace ropewalk
