#include "ropewalk/text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "tests/temporary_folder.h"
#include "tests/text/all_ids.h"

namespace ropewalk {
namespace {

using Ids = std::vector<int32_t>;

// Words in single quotes; <s> in front, </s> behind.
Json small_tokenizer() {
  return parse_json(R"({"version": "1.0",
    "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
    "added_tokens": [{"id": 5, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "decoder": null,
    "post_processor": {"type": "BertProcessing", "cls": ["<s>", 5], "sep": ["</s>", 6]},
    "model": {"type": "WordLevel", "unk_token": "?",
              "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "d": 4, "<s>": 5, "</s>": 6}}})",
                    "small");
}

Tokenizer make(const Json& json) { return Tokenizer::from_json(json.dump(), "t.json"); }

std::string refusal(const std::string& text) {
  try {
    encode(Tokenizer::from_json(text, "t.json"), "a b");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tokenizer, TellsWhatIsAddedFromTheText) {
  const Tokenizer tokenizer = make(small_tokenizer());
  const Tokenizer::Encoding encoding = encode(tokenizer, "a b <s> c d x a b c d");
  EXPECT_EQ(encoding.prefix, Ids{5});
  EXPECT_EQ(encoding.body, (Ids{1, 2, 5, 3, 4, 0, 1, 2, 3, 4})) << "neither cut nor padded";
  EXPECT_EQ(encoding.suffix, Ids{6});
}

TEST(Tokenizer, OfATextWithoutTokens) {
  const Tokenizer::Encoding encoding = encode(make(small_tokenizer()), "   ");
  EXPECT_EQ(encoding.prefix, Ids{5});
  EXPECT_EQ(encoding.body, Ids{});
  EXPECT_EQ(encoding.suffix, Ids{6});
}

TEST(Tokenizer, DigestIsThatOfTheFile) {
  const std::string text = small_tokenizer().dump();
  EXPECT_EQ(Tokenizer::from_json(text, "t.json").digest(), sha256_hex(text));
}

TEST(Tokenizer, BatchesMayOverlap) {
  const Tokenizer tokenizer = make(small_tokenizer());
  const Tokenizer other = make(small_tokenizer());
  auto first = tokenizer.send({"a", "b c"});
  auto second = tokenizer.send({"d"});
  auto third = other.send({"a a"});
  EXPECT_EQ(other.receive(std::move(third))[0].encoding.body, (Ids{1, 1}));
  EXPECT_EQ(tokenizer.receive(std::move(first))[1].encoding.body, (Ids{2, 3}));
  EXPECT_EQ(tokenizer.receive(std::move(second))[0].encoding.body, Ids{4});
}

TEST(Tokenizer, IsLoadedAgainWhereTheCompanionEnded) {
  const Tokenizer tokenizer = make(small_tokenizer());
  EXPECT_EQ(all_ids(tokenizer, "a"), (Ids{5, 1, 6}));
  end_shared_companion();
  EXPECT_EQ(all_ids(tokenizer, "b"), (Ids{5, 2, 6}));
}

TEST(Tokenizer, RefusesWhatIsNone) {
  EXPECT_EQ(refusal(""), "t.json: is empty");
  EXPECT_TRUE(refusal("{").starts_with("t.json: the tokenizers library cannot read it: "));
  Json json = small_tokenizer();
  json["model"]["type"] = "Quantum";
  EXPECT_TRUE(refusal(json.dump()).starts_with("t.json: the tokenizers library cannot read it: "));
}

TEST(Tokenizer, RefusesDropout) {
  Json json = small_tokenizer();
  json["model"] = {
      {"type", "BPE"}, {"dropout", 0.1}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}};
  EXPECT_TRUE(refusal(json.dump()).starts_with("t.json: model.dropout is 0.1"));
}

TEST(Tokenizer, FoldersWithOtherFiles) {
  const TemporaryFolder folder;
  folder.write("merges.txt", "");
  try {
    Tokenizer::from_file(folder.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), folder.path().string() + ": holds no tokenizer.json; " +
                                             std::string(kMakeTokenizerJson));
  }
}

// A library that behaves as a test wants, found before the real one.
class FakeLibrary {
 public:
  explicit FakeLibrary(const std::string& source) {
    end_shared_companion();
    folder_.write("tokenizers.py", source);
    ::setenv("PYTHONPATH", folder_.path().c_str(), 1);
  }
  ~FakeLibrary() {
    end_shared_companion();
    ::unsetenv("PYTHONPATH");
  }

 private:
  TemporaryFolder folder_;
};

// A library that returns the number of bytes of a text; `trouble` runs first.
std::string library(const std::string& trouble) {
  return "class Encoding: ids = [7]; special_tokens_mask = [0]\n"
         "class Tokenizer:\n"
         "  model = None\n"
         "  def from_buffer(bytes): return Tokenizer()\n"
         "  def no_truncation(self): pass\n"
         "  def no_padding(self): pass\n"
         "  def encode_batch_fast(self, texts, add_special_tokens):\n"
         "    for text in texts:\n"
         "      " +
         trouble +
         "\n"
         "    return [Encoding() for _ in texts]\n";
}

// Of three texts, the second has a problem.
std::vector<Tokenizer::Outcome> outcomes(const std::string& trouble) {
  const FakeLibrary fake(library(trouble));
  const Tokenizer tokenizer = Tokenizer::from_json("{}", "t.json");
  auto first = tokenizer.send({"good", "bad", "good"});
  auto second = tokenizer.send({"good"});
  auto made = tokenizer.receive(std::move(first));
  EXPECT_EQ(tokenizer.receive(std::move(second))[0].encoding.body, Ids{7})
      << "those behind are read";
  return made;
}

void expect_second_is(const std::vector<Tokenizer::Outcome>& made, const std::string& problem) {
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].problem, "");
  EXPECT_EQ(made[0].encoding.body, Ids{7});
  EXPECT_TRUE(made[1].problem.starts_with(problem)) << made[1].problem;
}

TEST(Tokenizer, SaysWhichTextFails) {
  expect_second_is(outcomes("if text == 'bad': raise BaseException('it panics')"),
                   "the tokenizer fails: it panics");
}

TEST(Tokenizer, SaysWhichTextTakesTooMuchMemory) {
  expect_second_is(outcomes("if text == 'bad': bytearray(64 << 30)"),
                   "a text of 3 bytes needs more than 64 times as many bytes of memory in the "
                   "tokenizer");
  expect_second_is(outcomes("if text == 'bad': import os, sys; sys.stderr.write('memory allocation "
                            "of 1 bytes failed\\n'); "
                            "sys.stderr.flush(); os.abort()"),
                   "a text of 3 bytes needs more than 64 times as many bytes of memory in the "
                   "tokenizer");
}

std::string system_error(const std::string& source) {
  const FakeLibrary fake(source);
  try {
    encode(Tokenizer::from_json("{}", "t.json"), "bad");
  } catch (const SystemError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tokenizer, SaysWhatToInstall) {
  const std::string none = system_error("raise ImportError('nothing here')");
  EXPECT_TRUE(none.starts_with("text needs the package tokenizers: ")) << none;
  EXPECT_NE(none.find("nothing here; install it with `python -m pip install tokenizers`"),
            std::string::npos)
      << none;
  const std::string old = system_error("__version__ = '0.19.1'\nclass Tokenizer: pass");
  EXPECT_NE(old.find("tokenizers 0.19.1 is older than 0.20; install"), std::string::npos) << old;
}

TEST(Tokenizer, ACompanionThatEndsIsNoTextsFault) {
  const std::string said =
      system_error(library("import os; os.kill(os.getpid(), 9) if text == 'bad' else None"));
  EXPECT_TRUE(said.starts_with("text cannot be tokenized: ")) << said;
  EXPECT_TRUE(said.ends_with("ended by signal 9")) << said;
}

}  // namespace
}  // namespace ropewalk
