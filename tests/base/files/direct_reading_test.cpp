#include "ropewalk/base/files/direct_reading.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

// Three pieces, the last one not whole.
constexpr size_t kSize = (size_t{10} << 20) + 12'345;

std::string random_bytes(size_t size) {
  std::mt19937_64 random(size);
  std::string bytes(size, '\0');
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t number = random();
    std::memcpy(&bytes[i], &number, sizeof number);
  }
  return bytes;
}

// Out of the system's cache, where there is a disk below.
void forget(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

bool in_cache(const MappedFile& file) {
  unsigned char there = 0;
  ::mincore(const_cast<std::byte*>(file.data()) + (size_t{8} << 20), 1, &there);
  return (there & 1U) != 0;
}

// A file of random bytes.
class DirectReadingTest : public ::testing::Test {
 protected:
  const TemporaryFolder folder;
  const std::string bytes = random_bytes(kSize);
  const std::filesystem::path path = folder.write("a", bytes);
};

TEST_F(DirectReadingTest, ReadsWhatTheCacheDoesNotHave) {
  forget(path);
  MappedFile file(path);
  const bool cold = !in_cache(file);
  EXPECT_EQ(file.direct(), nullptr);
  file.read_directly();
  DirectReading& direct = *file.direct();
  EXPECT_TRUE(direct.has_unrequested_bytes(0, file.size()));
  const std::byte* before = file.data();
  direct.read((5 << 20) + 3, 100);
  direct.wait((5 << 20) + 3, 100);
  EXPECT_FALSE(direct.has_unrequested_bytes(5 << 20, 1 << 20)) << "the whole piece was read";
  EXPECT_TRUE(direct.has_unrequested_bytes(0, file.size()));
  EXPECT_EQ(direct.own_bytes(), cold ? 4 << 20 : 0);
  direct.read(0, file.size());
  direct.wait(0, file.size());
  EXPECT_FALSE(direct.has_unrequested_bytes(0, file.size()));
  EXPECT_EQ(direct.own_bytes(), cold ? file.size() : 0);
  EXPECT_EQ(file.data(), before);
  EXPECT_TRUE(file.text() == bytes);
  file.will_need(0, file.size());
  file.release(0, file.size());
  EXPECT_TRUE(file.text() == bytes) << "memory of its own has no file to come back from";
}

TEST_F(DirectReadingTest, LeavesToTheMappingWhatTheCacheHas) {
  MappedFile file(path);
  EXPECT_TRUE(file.text() == bytes);
  file.read_directly();
  file.direct()->read(0, file.size());
  EXPECT_EQ(file.direct()->own_bytes(), 0);
  EXPECT_FALSE(file.direct()->has_unrequested_bytes(0, file.size()));
  EXPECT_TRUE(file.text() == bytes);
}

TEST_F(DirectReadingTest, WhoReadsMeanwhileSeesTheSame) {
  for (int round = 0; round < 5; ++round) {
    forget(path);
    MappedFile file(path);
    file.read_directly();
    const auto compare = [&] { EXPECT_TRUE(file.text() == bytes); };
    const auto read = [&] {
      for (int64_t at = 0; at < file.size(); at += 1 << 20) file.direct()->read(at, 1);
      file.direct()->wait(0, file.size());
      EXPECT_TRUE(file.text() == bytes);
    };
    const std::jthread one(compare), two(read), three(read), four(compare);
  }
}

TEST_F(DirectReadingTest, OfAFileThatIsCutOffWhatIsGoneStaysTheMappings) {
  forget(path);
  MappedFile file(path);
  const bool cold = !in_cache(file);
  file.read_directly();
  constexpr size_t kLeft = size_t{6} << 20;  // the second piece is cut in two, the third is gone
  std::filesystem::resize_file(path, kLeft);
  file.direct()->read(0, file.size());
  file.direct()->wait(0, file.size());
  EXPECT_EQ(file.direct()->own_bytes(), cold ? 4 << 20 : 0);
  EXPECT_TRUE(file.text().substr(0, kLeft) == bytes.substr(0, kLeft));
  EXPECT_THROW(file.require_unchanged(), InputError);
  EXPECT_FALSE(file.is_current());
}

TEST_F(DirectReadingTest, OfAnotherFileOfThatNameReadsNothing) {
  forget(path);
  MappedFile file(path);
  EXPECT_TRUE(file.is_current());
  std::filesystem::rename(folder.write("b", std::string(kSize, 'b')), path);
  EXPECT_FALSE(file.is_current());
  file.read_directly();
  file.direct()->read(0, file.size());
  EXPECT_EQ(file.direct()->own_bytes(), 0);
  EXPECT_TRUE(file.text() == bytes);
}

TEST_F(DirectReadingTest, OfAnEmptyFileThereIsNothingToRead) {
  MappedFile file(folder.write("a", ""));
  file.read_directly();
  EXPECT_EQ(file.direct(), nullptr);
}

}  // namespace
}  // namespace ropewalk
