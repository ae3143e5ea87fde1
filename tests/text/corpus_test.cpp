#include "ropewalk/text/corpus.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/text/line_reader.h"
#include "tests/temporary_folder.h"
#include "tests/text/compressed.h"
#include "tests/text/read_corpus.h"

namespace ropewalk {
namespace {

// The texts, in order.
std::vector<std::string> texts(const std::filesystem::path& path) {
  std::vector<std::string> result;
  for (const CorpusEntry& entry : read_corpus(path))
    result.push_back(std::get<std::string>(entry.content));
  return result;
}

TEST(FolderCorpus, ReadsEveryKindSortedByItsPath) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "a/deep", "B", "more.parquet", ".git"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  folder.write("b.txt", "\xEF\xBB\xBFtwo\r\nlines\rkept\r\n");
  folder.write("a/z.jsonl", "{\"text\": \"z1\"}\n{\"text\": \"z2\"}\n");
  folder.write("a/deep/c.txt.gz", gzipped("deep"));
  folder.write("a.txt", "before a/");
  folder.write("B/x.JSONL.GZ", gzipped("{\"text\": \"capital\"}"));
  folder.write("more.parquet/part.txt.zst", zstd_frame("part"));
  folder.write("more.parquet/empty.jsonl", "");
  folder.write("c.md", "not read");
  folder.write(".hidden.txt", "not read");
  folder.write(".git/a.txt", "not read");
  EXPECT_EQ(texts(folder.path()), (std::vector<std::string>{"capital", "before a/", "deep", "z1",
                                                            "z2", "two\nlines\rkept\n", "part"}));
  EXPECT_EQ(read_corpus(folder.path())[5].where, (folder.path() / "b.txt").string());
  EXPECT_EQ(read_corpus(folder.path() / "b.txt").size(), 1U);
  EXPECT_EQ(open_corpus(folder.path())->name(), folder.path().string());
}

TEST(FolderCorpus, FollowsLinksButNotInCircles) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "corpus/a");
  fs::create_directory(folder.path() / "elsewhere");
  folder.write("elsewhere/e.txt", "elsewhere");
  folder.write("corpus/a/f.txt", "f");
  fs::create_directory_symlink("..", folder.path() / "corpus/a/up");
  fs::create_directory_symlink(".", folder.path() / "corpus/a/self");
  fs::create_directory_symlink("../elsewhere", folder.path() / "corpus/linked");
  fs::create_directory_symlink("../elsewhere", folder.path() / "corpus/twice");
  fs::create_symlink("a/f.txt", folder.path() / "corpus/g.txt");
  EXPECT_EQ(texts(folder.path() / "corpus"), (std::vector<std::string>{"f", "f", "elsewhere"}));
  fs::create_symlink("nowhere.txt", folder.path() / "corpus/h.txt");
  EXPECT_THROW(read_corpus(folder.path() / "corpus"), SystemError);
}

TEST(FolderCorpus, FieldsAreThoseOfTheFilesThatHaveSome) {
  const TemporaryFolder folder;
  folder.write("a.txt", "text");
  EXPECT_THROW(open_corpus(folder.path(), {.field = "body", .id = ""}), UsageError);
  EXPECT_THROW(open_corpus(folder.path() / "a.txt", {.field = "", .id = "key"}), UsageError);
  folder.write("b.jsonl", "{\"body\": \"b\"}");
  EXPECT_EQ(read_corpus(folder.path(), {.field = "body", .id = ""}).size(), 2U);
}

TEST(TextCorpus, RefusesWhatIsNoText) {
  const TemporaryFolder folder;
  folder.write("a.txt", "ok\xC0\x80");
  EXPECT_EQ(corpus_message(folder, "a.txt"),
            "a.txt: not valid UTF-8: byte 0xc0 at offset 2; convert the file to UTF-8");
  folder.write("a.txt", "\xEF\xBB\xBF\xFF");
  EXPECT_TRUE(corpus_message(folder, "a.txt").find("offset 3") != std::string::npos);
  folder.write("a.txt", "");
  EXPECT_EQ(std::get<std::string>(read_corpus(folder.path() / "a.txt").at(0).content), "");
  folder.write("a.txt", std::string(kMaxDocumentBytes + 1, 'a'));
  const std::string expected =
      ": is longer than 64.0 MiB; expected one document; cut it into several files";
  EXPECT_EQ(corpus_message(folder, "a.txt"), "a.txt" + expected);
  folder.write("a.txt.gz", gzipped(std::string(kMaxDocumentBytes + 1, 'a')));
  EXPECT_EQ(corpus_message(folder, "a.txt.gz"), "a.txt.gz" + expected);
}

TEST(Corpus, RefusesWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  folder.write("a.docx", "");
  const std::string kinds = ".txt, .jsonl (plain, .gz or .zst) or .parquet";
  for (const char* name : {"a.docx", "a.gz", ".zst", "a.parquet.gz"}) {
    folder.write(name, "");
    EXPECT_EQ(corpus_message(folder, name), std::string(name) +
                                                ": unknown kind of corpus; expected " + kinds +
                                                ", or a folder of them");
  }
  std::filesystem::create_directory(folder.path() / "empty");
  EXPECT_EQ(corpus_message(folder, "empty"),
            "empty: the folder has no " + kinds + " file; it has nothing");
  std::filesystem::create_directory(folder.path() / "empty/deep");
  folder.write("empty/deep/a.docx", "");
  folder.write("empty/.b.txt", "");
  EXPECT_EQ(corpus_message(folder, "empty"),
            "empty: the folder has no " + kinds + " file; it has '.b.txt', 'deep/a.docx'");
  folder.write("a.parquet", "PAR1 no PAR1");
  EXPECT_TRUE(
      corpus_message(folder, "a.parquet").starts_with("a.parquet: cannot be read as Parquet: "));
  for (const char* name :
       {"none.txt", "none.jsonl", "none.jsonl.gz", "none.txt.zst", "none.parquet"}) {
    EXPECT_THROW(read_corpus(folder.path() / name), SystemError) << name;
  }
}

}  // namespace
}  // namespace ropewalk
