#include <gtest/gtest.h>

#include "tests/temporary_folder.h"
#include "tests/text/compressed.h"
#include "tests/text/read_corpus.h"

namespace ropewalk {
namespace {

TEST(GzipCorpus, ReadsMembersAndRefusesDamage) {
  const TemporaryFolder folder;
  const std::string whole = gzipped("{\"text\": \"one\"}\n{\"te") + gzipped("xt\": \"two\"}\n");
  EXPECT_EQ(read_corpus(folder.write("a.jsonl.gz", whole)).size(), 2U);
  EXPECT_EQ(read_corpus(folder.write("a.jsonl.gz", whole + std::string(9, '\0'))).size(), 2U);
  const size_t second = gzipped("{\"text\": \"one\"}\n{\"te").size();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == second) continue;  // a whole member: only the JSON is cut
    folder.write("a.jsonl.gz", whole.substr(0, size));
    EXPECT_EQ(corpus_message(folder, "a.jsonl.gz"),
              "a.jsonl.gz: gzip data ends too early: the file is cut short")
        << size;
  }
  folder.write("a.jsonl.gz", "");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.gz"), "a.jsonl.gz: is empty; expected gzip data");
  folder.write("a.jsonl.gz", "{}");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.gz"),
            "a.jsonl.gz: is not gzip-compressed; expected gzip data");
  folder.write("a.jsonl.gz", whole + "{}");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.gz"),
            "a.jsonl.gz: other bytes follow the gzip data; expected gzip data");
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;  // the checksum
  folder.write("a.jsonl.gz", damaged);
  EXPECT_TRUE(
      corpus_message(folder, "a.jsonl.gz").starts_with("a.jsonl.gz: damaged gzip data after"));
}

TEST(ZstdCorpus, ReadsFramesAndRefusesDamage) {
  const TemporaryFolder folder;
  const std::string first = zstd_frame("{\"text\": \"one\"}\n{\"te");
  const std::string skippable("\x50\x2A\x4D\x18\x02\0\0\0xx", 10);
  const std::string whole = first + skippable + zstd_frame("") + zstd_frame("xt\": \"two\"}\n");
  EXPECT_EQ(read_corpus(folder.write("a.jsonl.zst", whole)).size(), 2U);
  for (size_t size = 1; size < first.size(); ++size) {
    folder.write("a.jsonl.zst", first.substr(0, size));
    EXPECT_EQ(corpus_message(folder, "a.jsonl.zst"),
              "a.jsonl.zst: zstd data ends too early: the file is cut short")
        << size;
  }
  folder.write("a.jsonl.zst", "");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.zst"), "a.jsonl.zst: is empty; expected zstd data");
  folder.write("a.jsonl.zst", "{\"text\": \"one\"}\n");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.zst"),
            "a.jsonl.zst: is not zstd-compressed; expected zstd data");
  folder.write("a.jsonl.zst", zstd_frame("{\"text\": \"one\"}\n") + "{\"text\": \"two\"}\n");
  EXPECT_EQ(corpus_message(folder, "a.jsonl.zst"),
            "a.jsonl.zst: other bytes follow the zstd data; expected zstd data");
  std::string damaged = first;
  damaged[6] |= 6;  // a reserved kind of block
  folder.write("a.jsonl.zst", damaged);
  EXPECT_TRUE(
      corpus_message(folder, "a.jsonl.zst").starts_with("a.jsonl.zst: damaged zstd data: "));
}

TEST(ZstdCorpus, GrantsNoWindowOfGigabytes) {
  const TemporaryFolder folder;
  const std::string line = "{\"text\": \"one\"}\n";
  EXPECT_EQ(read_corpus(folder.write("a.jsonl.zst", zstd_frame(line, 27))).size(), 1U);
  for (const int window : {28, 31, 41}) {
    folder.write("a.jsonl.zst", zstd_frame(line, window));
    EXPECT_EQ(corpus_message(folder, "a.jsonl.zst"),
              "a.jsonl.zst: its zstd window is larger than 128.0 MiB; compress it again without "
              "--long, or with --long=27");
  }
}

}  // namespace
}  // namespace ropewalk
