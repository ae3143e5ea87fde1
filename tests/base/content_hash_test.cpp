#include "ropewalk/base/content_hash.h"

#include <gtest/gtest.h>

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
  const auto hash = [&] {
    std::vector<ContentHash> chunks;
    for (int64_t i = 0; i < hash_chunks(bytes); ++i)
      chunks.push_back(hash_chunk(data.data(), bytes, i));
    EXPECT_EQ(chunks.size(), 3);
    return join_chunks(chunks);
  };
  const ContentHash zeros = hash();
  for (const int64_t place : {int64_t{0}, kHashChunk - 1, kHashChunk, bytes / 2, bytes - 1}) {
    data[static_cast<size_t>(place)] = std::byte{1};
    EXPECT_NE(hash(), zeros) << place;
    data[static_cast<size_t>(place)] = std::byte{0};
  }
  EXPECT_EQ(hash(), zeros);
}

}  // namespace
}  // namespace ropewalk
