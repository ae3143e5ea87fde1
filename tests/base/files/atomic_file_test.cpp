#include "ropewalk/base/files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {
namespace fs = std::filesystem;

// Everything below a folder: files with their contents, folders as "/".
std::map<std::string, std::string> listing(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    found[fs::relative(entry.path(), folder).string()] =
        entry.is_directory() ? "/" : read_text_file(entry.path(), 1 << 20);
  }
  return found;
}

using Listing = std::map<std::string, std::string>;

// While this object lives, no file of this process may grow beyond `bytes`, as if the disk were
// full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(WriteFileAtomically, WritesAndReplaces) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "a", "one");
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "one"}}));
  write_file_atomically(folder.path() / "a", [](const ByteSink& write) {
    for (const char* part : {"t", "", "wo"}) write(part);
  });
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "two"}}));
}

TEST(WriteFilesAtomically, AllOrNone) {
  const TemporaryFolder folder;
  write_files_atomically({{folder.path() / "a", "one"}, {folder.path() / "b", "two"}});
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "one"}, {"b", "two"}}));
  {
    const FileSizeLimit full(100);
    EXPECT_THROW(write_files_atomically(
                     {{folder.path() / "a", "fits"}, {folder.path() / "b", std::string(200, 'x')}}),
                 SystemError);
  }
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "one"}, {"b", "two"}}));
}

TEST(WriteFileAtomically, AProducerThatFailsLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.write("a", "old");
  EXPECT_THROW(write_file_atomically(folder.path() / "a",
                                     [](const ByteSink& write) {
                                       write("half");
                                       throw SystemError("no more");
                                     }),
               SystemError);
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "old"}}));
}

TEST(WriteFileAtomically, FullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.write("a", "old");
  std::string message;
  {
    const FileSizeLimit limit(1000);
    try {
      write_file_atomically(folder.path() / "a", std::string(5000, 'x'));
    } catch (const SystemError& error) {
      message = error.what();
    }
  }
  EXPECT_EQ(message, (folder.path() / "a").string() + ": cannot write: File too large");
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "old"}}));
}

TEST(WriteFileAtomically, CannotReplaceAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "a");
  EXPECT_THROW(write_file_atomically(folder.path() / "a", "x"), SystemError);
  EXPECT_EQ(listing(folder.path()), (Listing{{"a", "/"}}));
}

TEST(WriteFileAtomically, NeedsItsFolder) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_file_atomically(folder.path() / "absent" / "a", "x"), SystemError);
  EXPECT_EQ(listing(folder.path()), Listing{});
}

TEST(AtomicFolder, AppearsOnCommit) {
  const TemporaryFolder folder;
  AtomicFolder out(folder.path() / "out");
  write_file_atomically(out.path() / "a", "1");
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
  out.commit();
  EXPECT_EQ(listing(folder.path()), (Listing{{"out", "/"}, {"out/a", "1"}}));
}

TEST(AtomicFolder, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "mine");
  {
    const AtomicFolder out(folder.path() / "mine" / "new" / "newer" / "out");
    write_file_atomically(out.path() / "a", "1");
  }
  EXPECT_EQ(listing(folder.path()), (Listing{{"mine", "/"}}));
}

TEST(AtomicFolder, KeepsParentsThatHoldSomethingElse) {
  const TemporaryFolder folder;
  {
    const AtomicFolder out(folder.path() / "new" / "out");
    folder.write("new/other", "2");
  }
  EXPECT_EQ(listing(folder.path()), (Listing{{"new", "/"}, {"new/other", "2"}}));
}

TEST(AtomicFolder, TakesTheNameWithASlash) {
  const TemporaryFolder folder;
  AtomicFolder out((folder.path() / "out").string() + "/");
  out.commit();
  EXPECT_EQ(listing(folder.path()), (Listing{{"out", "/"}}));
}

TEST(AtomicFolder, ReplacesAnEmptyFolderOnly) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "empty");
  AtomicFolder(folder.path() / "empty").commit();
  fs::create_directories(folder.path() / "full");
  folder.write("full/a", "1");
  {
    AtomicFolder out(folder.path() / "full");
    EXPECT_THROW(out.commit(), SystemError);
  }
  EXPECT_EQ(listing(folder.path()), (Listing{{"empty", "/"}, {"full", "/"}, {"full/a", "1"}}));
}

TEST(AtomicFolder, NamesTheTargetItCannotMake) {
  const TemporaryFolder folder;
  folder.write("file", "mine");
  try {
    const AtomicFolder out(folder.path() / "file" / "out");
    FAIL() << "made a folder inside a file";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("file/out: cannot create folder"), std::string::npos);
  }
  EXPECT_EQ(listing(folder.path()), (Listing{{"file", "mine"}}));
}

TEST(AtomicFile, TemporaryNamesAreKnownByTheirToken) {
  EXPECT_TRUE(is_temporary_of(".a.tmp-7-12ab", "7-12ab"));
  EXPECT_TRUE(is_temporary_of(".a.tmp-7-12ab-3", "7-12ab"));  // of another process of the job
  EXPECT_FALSE(is_temporary_of(".a.tmp-7-12ab-x", "7-12ab"));
  EXPECT_FALSE(is_temporary_of(".a.tmp-7-12abc", "7-12ab"));
  EXPECT_FALSE(is_temporary_of("a.tmp-7-12ab", "7-12ab"));
  EXPECT_FALSE(is_temporary_of(".a.tmp-8", "7-12ab"));
  EXPECT_FALSE(is_temporary_of(".a.tmp-", ""));
  const std::string name = temporary_path("/x/file").filename().string();
  EXPECT_TRUE(is_temporary_of(name, temporary_token())) << name;
}

}  // namespace
}  // namespace ropewalk
