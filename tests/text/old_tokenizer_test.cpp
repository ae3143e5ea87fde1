#include "ropewalk/text/old_tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/json.h"
#include "tests/temporary_folder.h"
#include "tests/text/all_ids.h"

namespace ropewalk {
namespace {

using Ids = std::vector<int32_t>;

// Words made of a, b, c and spaces, with a begin and an end token around.
Json small_tokenizer() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 8, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 9, "content": "</s>", "single_word": false, "lstrip": true, "rstrip": true,
       "normalized": false, "special": true}],
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "_"},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "_?[^_]+"}, "behavior": "Isolated",
                      "invert": false},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "pair": [],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]},
                         "</s>": {"id": "</s>", "ids": [9], "tokens": ["</s>"]}}},
    "decoder": null,
    "model": {"type": "BPE", "dropout": null, "unk_token": "?", "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "ignore_merges": false,
      "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "_": 4, "ab": 5, "abc": 6, "_ab": 7},
      "merges": [["a", "b"], ["_", "ab"], "ab c"]}
  })");
}

OldTokenizer make(const Json& json) { return OldTokenizer::from_json(json.dump(), "t.json"); }

std::string refusal(const std::string& text) {
  try {
    OldTokenizer::from_json(text, "t.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The message for the small tokenizer with the value at `pointer` replaced.
std::string refusal(const std::string& pointer, const Json& value) {
  Json json = small_tokenizer();
  json[Json::json_pointer(pointer)] = value;
  return refusal(json.dump());
}

TEST(OldTokenizer, Encodes) {
  const OldTokenizer tokenizer = make(small_tokenizer());
  const OldTokenizer::Encoding encoding = tokenizer.encode("abc ab xyz");
  EXPECT_EQ(encoding.prefix, Ids{8});
  EXPECT_EQ(encoding.body, (Ids{6, 7, 4, 0}));
  EXPECT_EQ(encoding.suffix, Ids{9});
  EXPECT_EQ(all_ids(tokenizer, ""), (Ids{8, 9}));
  EXPECT_EQ(all_ids(tokenizer, "a<s>b  </s> \n c"), (Ids{8, 1, 8, 2, 9, 3, 9}));
  EXPECT_EQ(tokenizer.vocabulary_size(), 10);
  EXPECT_EQ(tokenizer.digest().size(), 64u);
}

TEST(OldTokenizer, GivesTheSameFromManyThreads) {
  const OldTokenizer tokenizer = make(small_tokenizer());
  std::string text;
  for (int i = 0; i < 5000; ++i) text += i % 3 ? "abc ab c " : "bca xb<s>";
  const Ids expected = all_ids(tokenizer, text);
  std::vector<Ids> results(8);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { result = all_ids(tokenizer, text); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

TEST(OldTokenizer, RefusesInvalidUtf8) {
  const OldTokenizer tokenizer = make(small_tokenizer());
  try {
    tokenizer.encode("abc\xFF");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("offset 3"), std::string::npos) << error.what();
  }
}

TEST(OldTokenizer, RefusesUnknownPartsByName) {
  const auto expect = [](const std::string& pointer, const Json& value, const std::string& part) {
    const std::string message = refusal(pointer, value);
    EXPECT_NE(message.find(part), std::string::npos) << pointer << ": " << message;
    EXPECT_EQ(message.find("t.json: "), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  const Json unknown = {{"type", "Magic"}};
  expect("/normalizer", unknown,
         "normalizer.type: 'Magic' is not supported; supported: Sequence, NFC");
  expect("/pre_tokenizer", unknown, "pre_tokenizer.type: 'Magic' is not supported");
  expect("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {unknown}}},
         "pre_tokenizer.pretokenizers[0].type: 'Magic'");
  expect("/post_processor", unknown, "post_processor.type: 'Magic' is not supported");
  for (const std::string kind : {"Unigram", "WordPiece", "WordLevel"}) {
    EXPECT_EQ(refusal("/model/type", kind),
              "t.json: model.type: '" + kind +
                  "' is not supported; supported: BPE; or give the corpus as token ids");
  }
  expect("/model/dropout", 0.1, "model.dropout: '0.1' is not supported");
  expect("/model/novelty", 1, "model: unknown setting 'novelty'");
  expect("/novelty", 1, "t.json: unknown setting 'novelty'");
  expect("/version", "2.0", "version: '2.0' is not supported; supported: 1.0");
  expect("/pre_tokenizer/behavior", "Sideways", "pre_tokenizer.behavior: 'Sideways'");
  expect("/pre_tokenizer/pattern", {{"Regex", "(a)\\1"}},
         "pre_tokenizer.pattern: unsupported escape");
  expect("/pre_tokenizer/pattern", {{"Glob", "*"}},
         "pre_tokenizer.pattern: unknown setting 'Glob'");
  expect("/pre_tokenizer/invert", "yes",
         "pre_tokenizer.invert: expected true or false, found string");
}

// However long the pattern is that is at fault.
TEST(OldTokenizer, SaysHowToDoWithout) {
  std::string pattern = "(a)\\1";
  pattern.append(1000, 'b');
  const std::string message = refusal("/pre_tokenizer/pattern", {{"Regex", pattern}});
  EXPECT_TRUE(message.ends_with("; or give the corpus as token ids")) << message;
}

TEST(OldTokenizer, FoldersWithOtherFiles) {
  const TemporaryFolder folder;
  folder.write("vocab.json", "{}");
  folder.write("merges.txt", "#version: 0.2");
  try {
    OldTokenizer::from_file(folder.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), folder.path().string() + ": holds no tokenizer.json; " +
                                std::string(kMakeTokenizerJson));
  }
}

TEST(OldTokenizer, RefusesWhatDoesNotFitTogether) {
  const auto expect = [](const std::string& pointer, const Json& value, const std::string& part) {
    const std::string message = refusal(pointer, value);
    EXPECT_NE(message.find(part), std::string::npos) << pointer << ": " << message;
  };
  expect("/model/merges/0", {"a", "x"}, "model.merges[0]: the merge of 'a' with 'x' needs 'x'");
  expect("/model/merges/0", {"a", "c"}, "needs 'ac', which is not in the vocabulary");
  expect("/model/merges/0", "a b c", "model.merges[0]: expected");
  expect("/model/merges/0", 7, "model.merges[0]: expected");
  expect("/model/merges", "ab", "model.merges: expected a list, found string");
  expect("/model/vocab/a", -1, "model.vocab: token 'a' has id -1");
  expect("/model/vocab/a", 4294967296, "model.vocab: token 'a' has id 4294967296");
  expect("/model/vocab/a", 1.5, "model.vocab: token 'a' has id 1.5");
  expect("/model/vocab", Json::array(), "model.vocab: expected an object, found array");
  expect("/model", nullptr, "model: expected an object, found null");
  expect("/added_tokens/0/id", 77, "added_tokens[0]: token '<s>' has id 77, but its place in the");
  expect("/added_tokens/1/content", "<s>", "added_tokens[1]: token '<s>' has id 9");
  expect("/added_tokens/0/lstrip", nullptr, "added_tokens[0].lstrip: expected true or false");
  expect("/post_processor/special_tokens", Json::object(), "'<s>' is not among special_tokens");
  expect("/post_processor/single", Json::array(), "the text (Sequence A) is missing");
  expect("/post_processor/single/0", {{"Sequence", {{"id", "A"}}}}, "the text appears twice");
  expect("/post_processor/single/1/Sequence/id", "B", "'B' is not supported");
  Json twice = small_tokenizer()["post_processor"];
  expect("/post_processor", {{"type", "Sequence"}, {"processors", {twice, twice}}},
         "a second processor that adds tokens");
  Json lower = small_tokenizer();
  lower["normalizer"] = {{"type", "Lowercase"}};
  lower["added_tokens"][0]["normalized"] = true;
  lower["added_tokens"][1]["normalized"] = true;
  lower["added_tokens"][1]["content"] = "<S>";
  EXPECT_NE(refusal(lower.dump()).find("'<S>' (id 9) is the same as another one once normalised"),
            std::string::npos);
}

TEST(OldTokenizer, ShowsStrangeNamesOnOneLine) {
  const std::string message = refusal("/normalizer", {{"type", "a\n\x1b[2J"}});
  EXPECT_EQ(message.find_first_of("\n\x1b"), std::string::npos) << message;
}

TEST(OldTokenizer, UnknownTokenMayBeMissingUntilNeeded) {
  Json json = small_tokenizer();
  json["model"]["unk_token"] = "[UNK]";
  const OldTokenizer tokenizer = make(json);
  EXPECT_EQ(tokenizer.encode("ab").body, Ids{5});
  EXPECT_THROW(tokenizer.encode("xyz"), InputError);
}

TEST(OldTokenizer, NestedSequencesHaveALimit) {
  Json nested = {{"type", "NFC"}};
  for (int i = 0; i < 25; ++i) nested = {{"type", "Sequence"}, {"normalizers", {nested}}};
  EXPECT_NE(refusal("/normalizer", nested).find("nested"), std::string::npos);
}

TEST(OldTokenizer, SurvivesBrokenFiles) {
  const std::string good = small_tokenizer().dump();
  ASSERT_EQ(refusal(good), "");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(refusal(good.substr(0, size)), "") << size;
  }
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    for (int j = 0; j < 3; ++j) bad[random() % bad.size()] = "\"{}[],:0a\\ \n\xFF"[random() % 13];
    try {
      OldTokenizer::from_json(bad, "t.json").encode("abc ab <s> xyz");
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(OldTokenizer, RefusesAddedTokensWithoutEnd) {
  EXPECT_NE(refusal("/added_tokens/0/content", std::string(5000, 'a')).find("at most 4096"),
            std::string::npos);
  EXPECT_EQ(refusal("/added_tokens/0/content", std::string(4096, 'a')), "");
}

// Each step doubles the text.
TEST(OldTokenizer, StepsThatMakeATextEndless) {
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", false}};
  const auto with = [](const char* section, const char* list, const Json& step) {
    Json json = small_tokenizer();
    json[section] = {{"type", "Sequence"}, {list, std::vector<Json>(60, step)}};
    return make(json);
  };
  EXPECT_THROW(with("normalizer", "normalizers", replace).encode("a"), InputError);
  EXPECT_THROW(with("pre_tokenizer", "pretokenizers", bytes).encode("\u00e9"), InputError);
}

}  // namespace
}  // namespace ropewalk
