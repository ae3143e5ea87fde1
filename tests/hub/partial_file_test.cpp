#include "ropewalk/hub/partial_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

TEST(PartialFile, HashesAsEtagsDo) {
  const TemporaryFolder folder;
  PartialFile large(folder.path() / "large", std::string(64, 'a'), 5);
  large.append("by");
  large.append("tes");
  EXPECT_EQ(large.size(), 5);
  EXPECT_EQ(large.hash(), sha256_hex("bytes"));
  PartialFile small(folder.path() / "small", std::string(40, 'a'), 6);
  small.append("wrong");
  small.restart();
  small.append("hello\n");
  EXPECT_EQ(small.hash(), "ce013625030ba8dba906f756967f9e9ca394464a");  // git hash-object
  EXPECT_FALSE(fs::exists(folder.path() / "small"));
  small.commit();
  EXPECT_EQ(fs::file_size(folder.path() / "small"), 6);
}

TEST(PartialFile, ResumesAnEarlierDownload) {
  const TemporaryFolder folder;
  folder.write("blob.incomplete", "by");
  PartialFile file(folder.path() / "blob", std::string(64, 'a'), 5);
  file.read_back();
  EXPECT_EQ(file.size(), 2);
  file.append("tes");
  EXPECT_EQ(file.hash(), sha256_hex("bytes"));
  folder.write("other.incomplete", "too long");
  PartialFile other(folder.path() / "other", std::string(64, 'a'), 5);
  other.read_back();
  EXPECT_EQ(other.size(), 0);
}

TEST(PartialFile, AcceptsOnlyRegularFiles) {
  const TemporaryFolder folder;
  const fs::path precious = folder.write("precious", "mine");
  fs::create_symlink(precious, folder.path() / "link.incomplete");
  fs::create_symlink(folder.path() / "absent", folder.path() / "dangling.incomplete");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe.incomplete").c_str(), 0600), 0);
  fs::create_directory(folder.path() / "folder.incomplete");
  for (const char* name : {"link", "dangling", "pipe", "folder"}) {
    EXPECT_THROW(PartialFile(folder.path() / name, std::string(64, 'a'), 4), SystemError) << name;
  }
  EXPECT_EQ(fs::file_size(precious), 4);
  EXPECT_FALSE(fs::exists(folder.path() / "absent"));
}

}  // namespace
}  // namespace ropewalk
