#include "ropewalk/text/corpus.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "ropewalk/base/error.h"
#include "ropewalk/text/line_reader.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

using Tokens = std::vector<int32_t>;

std::vector<CorpusEntry> read_all(const std::filesystem::path& path,
                                  const CorpusOptions& options = {}) {
  std::vector<CorpusEntry> entries;
  const auto corpus = open_corpus(path, options);
  while (auto entry = corpus->next()) entries.push_back(std::move(*entry));
  return entries;
}

// The InputError for a file, without the folder in front.
std::string message(const TemporaryFolder& folder, const std::string& name,
                    const CorpusOptions& options = {}) {
  try {
    read_all(folder.path() / name, options);
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string prefix = folder.path().string() + "/";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
  return "no error";
}

std::string line_message(std::string_view line, const CorpusOptions& options = {}) {
  const TemporaryFolder folder;
  folder.write("a.jsonl", line);
  return message(folder, "a.jsonl", options);
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 100, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(JsonlCorpus, ReadsTextTokensAndIds) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.jsonl",
                                 "\xEF\xBB\xBF{\"text\": \"caf\xC3\xA9\", \"id\": 7}\r\n"
                                 "\n  \t\r\n"
                                 "{\"tokens\": [1, 0, 2147483647], \"id\": \"doc\"}\n"
                                 "{\"text\": \"both\", \"tokens\": [1]}");
  const auto entries = read_all(path);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(std::get<std::string>(entries[0].content), "caf\xC3\xA9");
  EXPECT_EQ(std::get<int64_t>(entries[0].id), 7);
  EXPECT_EQ(entries[0].where, path.string() + ":1");
  EXPECT_EQ(std::get<Tokens>(entries[1].content), (Tokens{1, 0, 2147483647}));
  EXPECT_EQ(std::get<std::string>(entries[1].id), "doc");
  EXPECT_EQ(entries[1].where, path.string() + ":4");
  EXPECT_EQ(std::get<std::string>(entries[2].content), "both");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(entries[2].id));
  EXPECT_EQ(open_corpus(path)->name(), path.string());
}

TEST(JsonlCorpus, ReadsTheRequestedFields) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.jsonl", R"({"body": "x", "ids": [3], "key": -1, "text": "not this", "id": 5})");
  const auto text = read_all(path, {.field = "body", .id = "key"});
  EXPECT_EQ(std::get<std::string>(text[0].content), "x");
  EXPECT_EQ(std::get<int64_t>(text[0].id), -1);
  const auto tokens = read_all(path, {.field = "ids", .id = ""});
  EXPECT_EQ(std::get<Tokens>(tokens[0].content), Tokens{3});
  EXPECT_EQ(std::get<int64_t>(tokens[0].id), 5);
}

TEST(JsonlCorpus, KeepsEmptyRows) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.jsonl", "{\"text\": \"\"}\n{\"text\": null}\n{\"tokens\": []}\n{\"tokens\": null}\n");
  const auto entries = read_all(path);
  ASSERT_EQ(entries.size(), 4U);
  for (const CorpusEntry& entry : entries) {
    EXPECT_TRUE(std::visit([](const auto& held) { return held.empty(); }, entry.content));
  }
}

TEST(JsonlCorpus, RefusesMalformedLines) {
  EXPECT_EQ(line_message("{\"text\": \"ok\"}\n\n{\"text\": \"\xED\xA0\x80\"}"),
            "a.jsonl:3: not valid UTF-8: byte 0xed at offset 10; convert the file to UTF-8");
  EXPECT_TRUE(line_message("{\"text\": \"a\"").starts_with("a.jsonl:1: not valid JSON"));
  EXPECT_TRUE(line_message("{\"text\": \"a\"} {}").starts_with("a.jsonl:1: not valid JSON"));
  EXPECT_TRUE(line_message(R"({"text": "\ud800"})").starts_with("a.jsonl:1: not valid JSON"));
  EXPECT_EQ(line_message(R"({"text": "a", "text": "b"})"), "a.jsonl:1: duplicate key 'text'");
  EXPECT_EQ(line_message("[1]"),
            "a.jsonl:1: holds a list; expected an object such as {\"text\": \"...\"}");
  EXPECT_EQ(line_message("\"a\""),
            "a.jsonl:1: holds a string; expected an object such as {\"text\": \"...\"}");
  EXPECT_EQ(line_message(R"({"body": "a", "n": 1})"),
            "a.jsonl:1: has no field 'text' or 'tokens'; it has 'body', 'n'; name one as the "
            "corpus's field");
  EXPECT_EQ(line_message(R"({"body": "a"})", {.field = "bodies", .id = ""}),
            "a.jsonl:1: has no field 'bodies'; it has 'body'");
  EXPECT_EQ(
      line_message("{}"),
      "a.jsonl:1: has no field 'text' or 'tokens'; it has nothing; name one as the corpus's field");
  EXPECT_LT(line_message("{\"" + std::string(100000, 'k') + "\": 1}").size(), 300U);
  EXPECT_EQ(line_message(R"({"text": 5})"), "a.jsonl:1: 'text' is an integer; expected a string");
  EXPECT_EQ(line_message(R"({"text": [1]})"), "a.jsonl:1: 'text' is a list; expected a string");
  EXPECT_EQ(line_message(R"({"x": true})", {.field = "x", .id = ""}),
            "a.jsonl:1: 'x' is true or false; expected a string or a list of token ids");
}

TEST(JsonlCorpus, RefusesMalformedTokens) {
  EXPECT_EQ(line_message(R"({"tokens": "1 2"})"),
            "a.jsonl:1: 'tokens' is a string; expected a list of token ids");
  EXPECT_EQ(line_message(R"({"tokens": [1, 2.0]})"),
            "a.jsonl:1: token 1 is 2.0; expected an integer id");
  EXPECT_EQ(line_message(R"({"tokens": [1, "2"]})"),
            "a.jsonl:1: token 1 is a string; expected an integer id");
  EXPECT_EQ(line_message(R"({"tokens": [null]})"),
            "a.jsonl:1: token 0 is null; expected an integer id");
  EXPECT_EQ(line_message(R"({"tokens": [[1]]})"),
            "a.jsonl:1: token 0 is a list; expected an integer id");
  EXPECT_EQ(line_message(R"({"tokens": [5, -1]})"),
            "a.jsonl:1: token 1 is -1; expected an id from 0 to 2147483647");
  EXPECT_EQ(line_message(R"({"tokens": [2147483648]})"),
            "a.jsonl:1: token 0 is 2147483648; expected an id from 0 to 2147483647");
  EXPECT_EQ(line_message(R"({"tokens": [18446744073709551615]})"),
            "a.jsonl:1: token 0 is 18446744073709551615; expected an integer id");
}

const std::vector<std::pair<std::string, std::string>> kNoIds = {
    {"1.5", "1.5"},    {"null", "null"},    {"true", "true or false"},
    {"[1]", "a list"}, {"{}", "an object"}, {"9223372036854775808", "9223372036854775808"}};

TEST(JsonlCorpus, RefusesMalformedIdsThatWereNamed) {
  for (const auto& [value, said] : kNoIds) {
    EXPECT_EQ(
        line_message(fmt::format(R"({{"text": "a", "id": {}}})", value), {.field = "", .id = "id"}),
        fmt::format("a.jsonl:1: id 'id' is {}; expected a 64-bit integer or a string; name "
                    "another field, or none: then documents have numbers for ids",
                    said));
  }
  EXPECT_EQ(line_message(R"({"text": "a"})", {.field = "", .id = "key"}),
            "a.jsonl:1: has no id field 'key'; it has 'text'");
}

TEST(JsonlCorpus, IgnoresUnusableIdsThatWereNotNamed) {
  const TemporaryFolder folder;
  std::string text;
  for (const auto& [value, said] : kNoIds) {
    text += fmt::format("{{\"text\": \"a\", \"id\": {}}}\n", value);
  }
  const auto corpus = open_corpus(folder.write("a.jsonl", text));
  for (size_t i = 0; i < kNoIds.size(); ++i) {
    const auto entry = corpus->next();
    ASSERT_TRUE(entry);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(entry->id)) << kNoIds[i].first;
  }
  EXPECT_FALSE(corpus->next());
}

TEST(JsonlCorpus, RefusesAnEndlessLine) {
  const TemporaryFolder folder;
  std::string text = "{\"text\": \"a\"}\n";
  text.append(kMaxDocumentBytes + 1, ' ');
  folder.write("a.jsonl", text);
  EXPECT_TRUE(message(folder, "a.jsonl").starts_with("a.jsonl:2: line is longer than 64.0 MiB"));
}

TEST(GzipCorpus, ReadsMembersAndRefusesDamage) {
  const TemporaryFolder folder;
  const std::string whole = gzipped("{\"text\": \"one\"}\n{\"te") + gzipped("xt\": \"two\"}\n");
  EXPECT_EQ(read_all(folder.write("a.jsonl.gz", whole)).size(), 2U);
  EXPECT_EQ(read_all(folder.write("a.jsonl.gz", whole + std::string(9, '\0'))).size(), 2U);
  const size_t second = gzipped("{\"text\": \"one\"}\n{\"te").size();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == second) continue;  // a complete member: only the JSON is cut
    folder.write("a.jsonl.gz", whole.substr(0, size));
    EXPECT_EQ(message(folder, "a.jsonl.gz"),
              "a.jsonl.gz: gzip data ends too early: the file is cut short")
        << size;
  }
  folder.write("a.jsonl.gz", "");
  EXPECT_EQ(message(folder, "a.jsonl.gz"), "a.jsonl.gz: is empty; expected gzip data");
  folder.write("a.jsonl.gz", "{}");
  EXPECT_EQ(message(folder, "a.jsonl.gz"),
            "a.jsonl.gz: is not gzip-compressed; expected gzip data");
  folder.write("a.jsonl.gz", whole + "{}");
  EXPECT_EQ(message(folder, "a.jsonl.gz"),
            "a.jsonl.gz: other bytes follow the gzip data; expected gzip data");
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;  // the checksum
  folder.write("a.jsonl.gz", damaged);
  EXPECT_TRUE(message(folder, "a.jsonl.gz").starts_with("a.jsonl.gz: damaged gzip data after"));
}

// A zstd frame of one uncompressed block. `window` is log2 of the memory that it asks for.
std::string zstd_frame(const std::string& bytes, int window = 17) {
  const auto header = static_cast<uint32_t>(bytes.size() << 3 | 1);
  std::string frame("\x28\xB5\x2F\xFD\0", 5);
  frame += static_cast<char>((window - 10) << 3);
  for (const int shift : {0, 8, 16}) frame += static_cast<char>(header >> shift & 0xFF);
  return frame + bytes;
}

TEST(ZstdCorpus, ReadsFramesAndRefusesDamage) {
  const TemporaryFolder folder;
  const std::string first = zstd_frame("{\"text\": \"one\"}\n{\"te");
  const std::string skippable("\x50\x2A\x4D\x18\x02\0\0\0xx", 10);
  const std::string whole = first + skippable + zstd_frame("") + zstd_frame("xt\": \"two\"}\n");
  EXPECT_EQ(read_all(folder.write("a.jsonl.zst", whole)).size(), 2U);
  for (size_t size = 1; size < first.size(); ++size) {
    folder.write("a.jsonl.zst", first.substr(0, size));
    EXPECT_EQ(message(folder, "a.jsonl.zst"),
              "a.jsonl.zst: zstd data ends too early: the file is cut short")
        << size;
  }
  folder.write("a.jsonl.zst", "");
  EXPECT_EQ(message(folder, "a.jsonl.zst"), "a.jsonl.zst: is empty; expected zstd data");
  folder.write("a.jsonl.zst", "{\"text\": \"one\"}\n");
  EXPECT_EQ(message(folder, "a.jsonl.zst"),
            "a.jsonl.zst: is not zstd-compressed; expected zstd data");
  folder.write("a.jsonl.zst", zstd_frame("{\"text\": \"one\"}\n") + "{\"text\": \"two\"}\n");
  EXPECT_EQ(message(folder, "a.jsonl.zst"),
            "a.jsonl.zst: other bytes follow the zstd data; expected zstd data");
  std::string damaged = first;
  damaged[6] |= 6;  // a reserved kind of block
  folder.write("a.jsonl.zst", damaged);
  EXPECT_TRUE(message(folder, "a.jsonl.zst").starts_with("a.jsonl.zst: damaged zstd data: "));
}

TEST(ZstdCorpus, RefusesWindowsOfGigabytes) {
  const TemporaryFolder folder;
  const std::string line = "{\"text\": \"one\"}\n";
  EXPECT_EQ(read_all(folder.write("a.jsonl.zst", zstd_frame(line, 27))).size(), 1U);
  for (const int window : {28, 31, 41}) {
    folder.write("a.jsonl.zst", zstd_frame(line, window));
    EXPECT_EQ(message(folder, "a.jsonl.zst"),
              "a.jsonl.zst: its zstd window is larger than 128.0 MiB; compress it again without "
              "--long, or with --long=27");
  }
}

// The texts, in order.
std::vector<std::string> texts(const std::filesystem::path& path) {
  std::vector<std::string> result;
  for (const CorpusEntry& entry : read_all(path))
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
  EXPECT_EQ(read_all(folder.path())[5].where, (folder.path() / "b.txt").string());
  EXPECT_EQ(read_all(folder.path() / "b.txt").size(), 1U);
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
  EXPECT_THROW(read_all(folder.path() / "corpus"), SystemError);
}

TEST(FolderCorpus, FieldsApplyOnlyToFilesWithFields) {
  const TemporaryFolder folder;
  folder.write("a.txt", "text");
  EXPECT_THROW(open_corpus(folder.path(), {.field = "body", .id = ""}), UsageError);
  EXPECT_THROW(open_corpus(folder.path() / "a.txt", {.field = "", .id = "key"}), UsageError);
  folder.write("b.jsonl", "{\"body\": \"b\"}");
  EXPECT_EQ(read_all(folder.path(), {.field = "body", .id = ""}).size(), 2U);
}

TEST(TextCorpus, RefusesInvalidText) {
  const TemporaryFolder folder;
  folder.write("a.txt", "ok\xC0\x80");
  EXPECT_EQ(message(folder, "a.txt"),
            "a.txt: not valid UTF-8: byte 0xc0 at offset 2; convert the file to UTF-8");
  folder.write("a.txt", "\xEF\xBB\xBF\xFF");
  EXPECT_TRUE(message(folder, "a.txt").find("offset 3") != std::string::npos);
  folder.write("a.txt", "");
  EXPECT_EQ(std::get<std::string>(read_all(folder.path() / "a.txt").at(0).content), "");
  folder.write("a.txt", std::string(kMaxDocumentBytes + 1, 'a'));
  const std::string expected =
      ": is longer than 64.0 MiB; expected one document; cut it into several files";
  EXPECT_EQ(message(folder, "a.txt"), "a.txt" + expected);
  folder.write("a.txt.gz", gzipped(std::string(kMaxDocumentBytes + 1, 'a')));
  EXPECT_EQ(message(folder, "a.txt.gz"), "a.txt.gz" + expected);
}

TEST(Corpus, RefusesUnknownKinds) {
  const TemporaryFolder folder;
  folder.write("a.docx", "");
  const std::string kinds = ".txt, .jsonl (plain, .gz or .zst) or .parquet";
  for (const char* name : {"a.docx", "a.gz", ".zst", "a.parquet.gz"}) {
    folder.write(name, "");
    EXPECT_EQ(message(folder, name), std::string(name) + ": unknown kind of corpus; expected " +
                                         kinds + ", or a folder of them");
  }
  std::filesystem::create_directory(folder.path() / "empty");
  EXPECT_EQ(message(folder, "empty"),
            "empty: the folder has no " + kinds + " file; it has nothing");
  std::filesystem::create_directory(folder.path() / "empty/deep");
  folder.write("empty/deep/a.docx", "");
  folder.write("empty/.b.txt", "");
  EXPECT_EQ(message(folder, "empty"),
            "empty: the folder has no " + kinds + " file; it has '.b.txt', 'deep/a.docx'");
  folder.write("a.parquet", "PAR1 no PAR1");
  EXPECT_TRUE(message(folder, "a.parquet").starts_with("a.parquet: cannot be read as Parquet: "));
  for (const char* name :
       {"none.txt", "none.jsonl", "none.jsonl.gz", "none.txt.zst", "none.parquet"}) {
    EXPECT_THROW(read_all(folder.path() / name), SystemError) << name;
  }
}

}  // namespace
}  // namespace ropewalk
