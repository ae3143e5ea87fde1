#include <gtest/gtest.h>

#include "ropewalk/text/line_reader.h"
#include "tests/temporary_folder.h"
#include "tests/text/read_corpus.h"

namespace ropewalk {
namespace {

using Tokens = std::vector<int32_t>;

std::string line_message(std::string_view line, const CorpusOptions& options = {}) {
  const TemporaryFolder folder;
  folder.write("a.jsonl", line);
  return corpus_message(folder, "a.jsonl", options);
}

TEST(JsonlCorpus, ReadsTextTokensAndIds) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.jsonl",
                                 "\xEF\xBB\xBF{\"text\": \"caf\xC3\xA9\", \"id\": 7}\r\n"
                                 "\n  \t\r\n"
                                 "{\"tokens\": [1, 0, 2147483647], \"id\": \"doc\"}\n"
                                 "{\"text\": \"both\", \"tokens\": [1]}");
  const auto entries = read_corpus(path);
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

TEST(JsonlCorpus, ReadsTheFieldsAskedFor) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.jsonl", R"({"body": "x", "ids": [3], "key": -1, "text": "not this", "id": 5})");
  const auto text = read_corpus(path, {.field = "body", .id = "key"});
  EXPECT_EQ(std::get<std::string>(text[0].content), "x");
  EXPECT_EQ(std::get<int64_t>(text[0].id), -1);
  const auto tokens = read_corpus(path, {.field = "ids", .id = ""});
  EXPECT_EQ(std::get<Tokens>(tokens[0].content), Tokens{3});
  EXPECT_EQ(std::get<int64_t>(tokens[0].id), 5);
}

TEST(JsonlCorpus, HandsOnEmptyRows) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.jsonl", "{\"text\": \"\"}\n{\"text\": null}\n{\"tokens\": []}\n{\"tokens\": null}\n");
  const auto entries = read_corpus(path);
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
  EXPECT_EQ(line_message("{}"),
            "a.jsonl:1: has no field 'text' or 'tokens'; it has nothing; name one as the "
            "corpus's field");
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
        fmt::format("a.jsonl:1: id 'id' is {}; expected a 64-bit integer or a string; name another "
                    "field, or none: documents then get numbers as ids",
                    said));
  }
  EXPECT_EQ(line_message(R"({"text": "a"})", {.field = "", .id = "key"}),
            "a.jsonl:1: has no id field 'key'; it has 'text'");
}

TEST(JsonlCorpus, LeavesOutIdsThatNobodyNamedAndThatAreNone) {
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
  EXPECT_EQ(corpus_message(folder, "a.jsonl"),
            "a.jsonl:2: line is longer than 64.0 MiB; expected one document per line");
}

}  // namespace
}  // namespace ropewalk
