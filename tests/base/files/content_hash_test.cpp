#include "ropewalk/base/files/content_hash.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ropewalk {
namespace {

TEST(ContentHash, IsXxh3) {
  // xxhash.xxh3_128_hexdigest of Python's package gives the same.
  EXPECT_EQ(hash_bytes("", 0).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_bytes("a", 1).hex(), "a96faf705af16834e6c632b61e964e1f");
}

TEST(ContentHash, EveryByteOfEveryChunkCounts) {
  const int64_t bytes = 2 * kHashChunk + 17;
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  const auto hash = [&] { return hash_stretch(data); };
  const ContentHash zeros = hash();
  for (const int64_t offset : {int64_t{0}, kHashChunk - 1, kHashChunk, bytes / 2, bytes - 1}) {
    data[static_cast<size_t>(offset)] = std::byte{1};
    EXPECT_NE(hash(), zeros) << offset;
    data[static_cast<size_t>(offset)] = std::byte{0};
  }
  EXPECT_EQ(hash(), zeros);
}

TEST(ContentHash, OfManyStretchesEachIsItsOwn) {
  std::vector<std::byte> data(static_cast<size_t>(kHashChunk + 5), std::byte{7});
  const std::vector<Stretch> stretches{data, {}, Stretch(data).first(3)};
  std::mutex mutex;
  std::map<size_t, int64_t> done;
  const auto hashes = hash_stretches(stretches, run_chunks, [&](size_t i, int64_t, int64_t bytes) {
    const std::lock_guard lock(mutex);
    done[i] += bytes;
  });
  ASSERT_EQ(hashes.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(hashes[i], hash_stretch(stretches[i]));
    EXPECT_EQ(done[i], static_cast<int64_t>(stretches[i].size()));
  }
  const auto backwards = [](size_t count, const std::function<void(size_t)>& work) {
    for (size_t i = count; i-- > 0;) work(i);
  };
  EXPECT_EQ(hash_stretch(data, backwards), hashes[0]);
}

TEST(ContentHash, SumsOfZipArchives) {
  std::vector<std::byte> data(static_cast<size_t>(2 * kHashChunk + 17), std::byte{7});
  EXPECT_EQ(crc32_of({}), 0);
  const std::string digits = "123456789";
  EXPECT_EQ(crc32_of(std::as_bytes(std::span(digits))), 0xcbf43926) << "the check value of CRC-32";
  EXPECT_EQ(crc32_of(data), ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

}  // namespace
}  // namespace ropewalk
