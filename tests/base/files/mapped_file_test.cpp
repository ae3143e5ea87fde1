#include "ropewalk/base/files/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

std::string refusal(const std::filesystem::path& path) {
  try {
    const MappedFile file(path);
  } catch (const SystemError& error) {
    return error.what();
  }
  return "no error";
}

TEST(MappedFile, ShowsTheWholeFile) {
  const TemporaryFolder folder;
  std::string bytes(10'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  const MappedFile file(folder.write("a", bytes));
  EXPECT_EQ(file.size(), 10'000);
  EXPECT_EQ(file.text(), bytes);
  EXPECT_EQ(file.path(), folder.path() / "a");
}

TEST(MappedFile, EmptyFile) {
  const TemporaryFolder folder;
  const MappedFile file(folder.write("a", ""));
  EXPECT_EQ(file.size(), 0);
  EXPECT_EQ(file.text(), "");
  file.will_need(0, 0);
  file.release(0, 0);
}

TEST(MappedFile, ReleasedPagesComeBack) {
  const TemporaryFolder folder;
  const std::string bytes(100'000, 'x');
  const MappedFile file(folder.write("a", bytes));
  file.will_need(5, 50'000);
  EXPECT_EQ(file.text(), bytes);
  file.release(4097, 60'000);  // from the middle of a page to the middle of another
  EXPECT_EQ(file.text(), bytes);
}

TEST(MappedFile, NamesTheFileThatItCannotOpen) {
  const TemporaryFolder folder;
  const std::string absent = folder.path() / "absent";
  EXPECT_EQ(refusal(absent), absent + ": cannot open: No such file or directory");
  EXPECT_EQ(refusal(folder.path()), folder.path().string() + ": is not a regular file");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: is not a regular file");
  const std::string pipe =
      folder.path() / "pipe";  // nobody writes to it, and opening it must not wait
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), pipe + ": is not a regular file");
}

TEST(MappedFile, DetectsWritesToTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "12345");
  const MappedFile file(path);
  EXPECT_NO_THROW(file.require_unchanged());
  std::filesystem::resize_file(path, 4);
  EXPECT_THROW(file.require_unchanged(), InputError);
  std::filesystem::remove(path);
  EXPECT_NO_THROW(file.require_unchanged()) << "what is mapped stays";
  folder.write("a", "another file");
  EXPECT_NO_THROW(file.require_unchanged());
}

TEST(ReadTextFile, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "12345");
  EXPECT_EQ(read_text_file(path, 5), "12345");
  EXPECT_THROW(read_text_file(path, 4), InputError);
}

}  // namespace
}  // namespace ropewalk
