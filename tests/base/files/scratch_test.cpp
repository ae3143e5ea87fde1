#include "ropewalk/base/files/scratch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kSize = 1 << 20;

TEST(Scratch, KeepsContentsThatLeftMemory) {
  const TemporaryFolder folder;
  for (const bool file : {false, true}) {
    const Scratch scratch(kSize, file ? std::optional(folder.path()) : std::nullopt);
    std::byte* data = scratch.data();
    EXPECT_TRUE(std::all_of(data, data + kSize, [](std::byte b) { return b == std::byte{0}; }));
    std::fill(data, data + kSize, std::byte{7});
    scratch.release(100, kSize - 100);
    EXPECT_TRUE(std::all_of(data, data + kSize, [](std::byte b) { return b == std::byte{7}; }));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the file has no name";
  }
}

TEST(Scratch, TakesMemoryAheadOfTheFirstWrite) {
  const auto in_memory = [](const Scratch& scratch) {
    std::vector<unsigned char> pages(static_cast<size_t>(kSize / ::sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(::mincore(scratch.data(), kSize, pages.data()), 0);
    return std::count(pages.begin(), pages.end(), 1);
  };
  const Scratch scratch(kSize, std::nullopt);
  EXPECT_EQ(in_memory(scratch), 0);
  scratch.data()[kSize / 2 + 1] = std::byte{7};
  scratch.take(kSize / 2 + 1, kSize / 4);
#ifdef MADV_POPULATE_WRITE
  EXPECT_GE(in_memory(scratch), kSize / 4 / ::sysconf(_SC_PAGESIZE));
#endif
  EXPECT_EQ(scratch.data()[kSize / 2 + 1], std::byte{7});
}

TEST(Scratch, RefusesSizesThatTheDiskCannotHold) {
  const TemporaryFolder folder;
  EXPECT_THROW(Scratch(int64_t{1} << 60, folder.path()), SystemError);
  EXPECT_THROW(Scratch(kSize, folder.path() / "absent"), SystemError);
}

}  // namespace
}  // namespace ropewalk
