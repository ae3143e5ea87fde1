#include "ropewalk/hub/remote_file.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kSize = 3 * RemoteFile::kPart + 1000;

// Bytes that show their origin, and a list of the requests.
struct OtherHost {
  std::vector<std::pair<int64_t, int64_t>> asked;
  char byte(int64_t at) const { return static_cast<char>(at * 31 + (at >> 12)); }
  std::string expected(int64_t offset, int64_t length) const {
    std::string bytes;
    for (int64_t i = 0; i < length; ++i) bytes += byte(offset + i);
    return bytes;
  }
  RemoteFile open(const std::filesystem::path& parts) {
    return {"file", kSize, parts, [this](int64_t offset, int64_t length) {
              asked.emplace_back(offset, length);
              return expected(offset, length);
            }};
  }
};

std::string read(RemoteFile& file, int64_t offset, int64_t length) {
  std::string bytes(static_cast<size_t>(length), '\0');
  bytes.resize(static_cast<size_t>(file.read(offset, bytes.data(), length)));
  return bytes;
}

TEST(RemoteFile, ReadsPartsAsTheyAreNeededAndOnce) {
  const TemporaryFolder folder;
  OtherHost elsewhere;
  {
    RemoteFile file = elsewhere.open(folder.path() / "parts");
    EXPECT_EQ(read(file, RemoteFile::kPart - 5, 10), elsewhere.expected(RemoteFile::kPart - 5, 10));
    EXPECT_EQ(elsewhere.asked.size(), 2) << "both parts that the bytes lie in";
    EXPECT_EQ(read(file, 7, 100), elsewhere.expected(7, 100));
    EXPECT_EQ(elsewhere.asked.size(), 2);
    EXPECT_EQ(read(file, kSize - 10, 100), elsewhere.expected(kSize - 10, 10)) << "the end";
    EXPECT_EQ(elsewhere.asked.back(), (std::pair(3 * RemoteFile::kPart, int64_t{1000})));
    EXPECT_EQ(read(file, kSize, 5), "");
    EXPECT_EQ(file.bytes_requested(), 2 * RemoteFile::kPart + 1000);
  }
  RemoteFile again = elsewhere.open(folder.path() / "parts");
  EXPECT_EQ(read(again, 0, 50), elsewhere.expected(0, 50));
  EXPECT_EQ(elsewhere.asked.size(), 3) << "kept on the disk";
}

TEST(RemoteFile, DamagedPartsAreReadAgain) {
  const TemporaryFolder folder;
  OtherHost elsewhere;
  {
    RemoteFile file = elsewhere.open(folder.path());
    read(file, 0, 1);
  }
  for (const char* contents : {"", "no seal", "00000000000000000000000000000000\nshort"}) {
    folder.write("0", contents);
    RemoteFile file = elsewhere.open(folder.path());
    EXPECT_EQ(read(file, 0, 9), elsewhere.expected(0, 9)) << contents;
  }
  EXPECT_EQ(elsewhere.asked.size(), 4);
}

TEST(RemoteFile, WhereNothingCanBeKeptItStillReads) {
  const TemporaryFolder folder;
  OtherHost elsewhere;
  RemoteFile file = elsewhere.open(folder.write("a file", "") / "parts");
  EXPECT_EQ(read(file, 3, 9), elsewhere.expected(3, 9));
}

}  // namespace
}  // namespace ropewalk
