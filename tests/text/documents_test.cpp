#include "ropewalk/text/documents.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/text/tokenizer.h"
#include "tests/text/all_ids.h"

namespace ropewalk {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int32_t kVocabulary = 100;

// An entry of n tokens counting from `first`.
CorpusEntry entry_of(int32_t first, size_t n, decltype(CorpusEntry::id) id = {}) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return {std::move(tokens), std::move(id), "a.jsonl:" + std::to_string(first + 1)};
}

// A corpus in memory.
class EntryList : public CorpusReader {
 public:
  explicit EntryList(std::vector<CorpusEntry> entries) : entries_(std::move(entries)) {}
  std::optional<CorpusEntry> next() override {
    if (next_ == entries_.size()) return std::nullopt;
    return std::move(entries_[next_++]);
  }
  std::string name() const override { return "corpus"; }

 private:
  std::vector<CorpusEntry> entries_;
  size_t next_ = 0;
};

CorpusEntry text_of(std::string text) { return {std::move(text), {}, "a.txt"}; }

DocumentOptions options_of(int64_t context) {
  DocumentOptions options;
  options.context = context;
  options.vocabulary_size = kVocabulary;
  return options;
}

DocumentSet select(std::vector<CorpusEntry> entries, const DocumentOptions& options,
                   const Tokenizer* tokenizer = nullptr) {
  EntryList corpus(std::move(entries));
  return select_documents(corpus, tokenizer, options);
}

std::string message(std::vector<CorpusEntry> entries, const DocumentOptions& options) {
  try {
    select(std::move(entries), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// The warnings about a corpus of these entries.
std::string warnings(std::vector<CorpusEntry> entries, const DocumentOptions& options) {
  std::string said;
  log::set_sink([&](log::Level level, std::string_view line) {
    said += fmt::format("{}{}\n", level == log::Level::warning ? "warning: " : "", line);
  });
  select(std::move(entries), options);
  log::set_sink({});
  return said;
}

std::vector<CorpusEntry> entries_of(int32_t count, size_t tokens) {
  std::vector<CorpusEntry> entries;
  for (int32_t i = 0; i < count; ++i) entries.push_back(entry_of(i, tokens));
  return entries;
}

TEST(Documents, SaysHowManyRepeatAnother) {
  std::vector<CorpusEntry> entries = entries_of(8, 4);
  EXPECT_EQ(warnings(entries, options_of(4)), "");
  entries.push_back(entry_of(0, 4));
  entries.push_back(entry_of(7, 5));
  EXPECT_EQ(warnings(entries, options_of(4)).substr(0, 64),
            "warning: corpus: 2 of 10 documents repeat another one, token by ");
}

TEST(Documents, SaysThatFewerAreThereThanAskedFor) {
  DocumentOptions options = options_of(4);
  options.documents = 12;
  EXPECT_EQ(warnings(entries_of(12, 4), options), "");
  options.documents = 500;
  EXPECT_EQ(warnings(entries_of(12, 4), options),
            "warning: corpus: expected 500 documents, found 12; 0 shorter ones "
            "skipped\n");
}

TEST(Documents, SaysThatTheyAreTooFew) {
  EXPECT_EQ(warnings(entries_of(7, 4), options_of(4)),
            "warning: corpus: 7 documents are too few for reliable standard errors; give at least "
            "8, or cut long texts into several documents (chunk)\n");
}

TEST(Documents, SkipsAndCountsEmptyOnes) {
  const auto set =
      select({text_of(""), entry_of(0, 4), entry_of(0, 0), entry_of(0, 3)}, options_of(4));
  EXPECT_EQ(set.documents.size(), 1U);
  EXPECT_EQ(set.entries_read, 4);
  EXPECT_EQ(set.skipped_empty, 2);
  EXPECT_EQ(set.skipped_short, 1);
  EXPECT_EQ(set.describe_skipped(), "1 shorter and 2 empty ones skipped");
  EXPECT_EQ(message({text_of(""), entry_of(0, 0)}, options_of(4)),
            "corpus: all 2 documents are empty");
}

TEST(Documents, KeepsTheFirstLongEnoughAndCutsThem) {
  DocumentOptions options = options_of(4);
  options.documents = 2;
  const auto set =
      select({entry_of(0, 3), entry_of(10, 4), entry_of(20, 2), entry_of(30, 9), entry_of(40, 9)},
             options);
  ASSERT_EQ(set.documents.size(), 2U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{10, 11, 12, 13}));
  EXPECT_EQ(set.documents[1].tokens, (Tokens{30, 31, 32, 33}));
  EXPECT_EQ(set.documents[1].index, 1);
  EXPECT_EQ(set.total_tokens, 8);
  EXPECT_EQ(set.entries_read, 4);
  EXPECT_EQ(set.skipped_short, 2);
  EXPECT_EQ(set.longest_skipped, 3);
  EXPECT_EQ(set.tokenizer_digest, "");
}

TEST(Documents, TakesThoseAfterSomeThatAreLongEnough) {
  DocumentOptions options = options_of(4);
  options.after = 1;
  options.documents = 2;
  const auto entries = [] {
    return std::vector{entry_of(0, 4), entry_of(10, 3), entry_of(20, 5), entry_of(30, 4),
                       entry_of(40, 4)};
  };
  const DocumentSet set = select(entries(), options);
  ASSERT_EQ(set.documents.size(), 2U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{20, 21, 22, 23}));
  EXPECT_EQ(set.documents[0].index, 0);
  EXPECT_EQ(set.documents[1].tokens, (Tokens{30, 31, 32, 33}));
  EXPECT_EQ(set.skipped_short, 1);
  options.documents = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(select(entries(), options).documents.size(), 3U);
  options.after = 4;
  EXPECT_EQ(message(entries(), options),
            "corpus: has 4 documents that are long enough, expected more than 4");
}

TEST(Documents, KeepsShortOnesWhenAsked) {
  DocumentOptions options = options_of(4);
  options.min_tokens = 2;
  const auto set = select({entry_of(0, 1), entry_of(10, 2), entry_of(20, 5)}, options);
  ASSERT_EQ(set.documents.size(), 2U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{10, 11}));
  EXPECT_EQ(set.documents[1].tokens.size(), 4U);
}

TEST(Documents, ExampleIds) {
  const auto set =
      select({entry_of(0, 1), entry_of(1, 5, int64_t{-7}), entry_of(2, 5, "doc-3"), entry_of(3, 5)},
             options_of(5));
  ASSERT_EQ(set.documents.size(), 3U);
  EXPECT_EQ(set.documents[0].example_id, -7);
  // int.from_bytes(hashlib.blake2b(b"doc-3", digest_size=8).digest(), "little", signed=True)
  EXPECT_EQ(set.documents[1].example_id, -6722110773860770310);
  EXPECT_EQ(set.documents[2].example_id, 2);  // its index among those kept
}

TEST(Documents, RefusesUnknownIds) {
  EXPECT_EQ(message({entry_of(97, 4)}, options_of(2)),
            "a.jsonl:98: token 3 is 100; expected an id from 0 to 99, the model's vocabulary");
  EXPECT_EQ(message({entry_of(-1, 4)}, options_of(2)),
            "a.jsonl:0: token 0 is -1; expected an id from 0 to 99, the model's vocabulary");
}

// Fails at its third entry.
class FailingCorpus : public CorpusReader {
 public:
  std::optional<CorpusEntry> next() override {
    if (++read_ == 3) throw InputError("a.jsonl:3: bad");
    return entry_of(read_, 4);
  }
  std::string name() const override { return "a.jsonl"; }

 private:
  int32_t read_ = 0;
};

TEST(Documents, AnErrorBehindTheLastDocumentNeededIsNotMet) {
  DocumentOptions options = options_of(4);
  options.documents = 2;
  FailingCorpus enough;
  EXPECT_EQ(select_documents(enough, nullptr, options).documents.size(), 2U);
  options.documents = 3;
  FailingCorpus corpus;
  EXPECT_THROW(select_documents(corpus, nullptr, options), InputError);
  options.documents = 1;
  EXPECT_EQ(select({entry_of(0, 4), entry_of(97, 4)}, options).documents.size(), 1U);
}

TEST(Documents, RefusesTextWithoutTokenizer) {
  EXPECT_EQ(message({text_of("abc")}, options_of(2)),
            "a.txt: is text, but no tokenizer.json was found; name one, or give token ids; "
            "transformers writes one from vocab.json and merges.txt or from tokenizer.model, with "
            "AutoTokenizer.from_pretrained(model).save_pretrained(folder)");
}

TEST(Documents, SaysHowLongTheLongestIs) {
  EXPECT_EQ(
      message({entry_of(0, 3), entry_of(10, 7), entry_of(20, 5)}, options_of(8)),
      "corpus: no document has 8 tokens: the longest of 3, a.jsonl:11, has 7; lower the context or "
      "min_tokens");
  EXPECT_EQ(message({}, options_of(8)), "corpus: holds no documents");
}

TEST(Documents, RefusesSenselessOptions) {
  EXPECT_THROW(select({entry_of(0, 3)}, options_of(0)), UsageError);
  for (const int64_t min_tokens : {0, 5}) {
    DocumentOptions options = options_of(4);
    options.min_tokens = min_tokens;
    EXPECT_THROW(select({entry_of(0, 4)}, options), UsageError);
  }
  DocumentOptions none = options_of(4);
  none.documents = 0;
  EXPECT_THROW(select({entry_of(0, 4)}, none), UsageError);
  DocumentOptions no_vocabulary = options_of(4);
  no_vocabulary.vocabulary_size = 0;
  EXPECT_THROW(select({entry_of(0, 4)}, no_vocabulary), UsageError);
}

// Letters a to f are 0 to 5; the post-processor puts 6 in front and 7 behind.
Tokenizer letters() {
  return Tokenizer::from_json(
      R"({"version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "added_tokens": [{"id": 6, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true},
                     {"id": 7, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]},
                         "</s>": {"id": "</s>", "ids": [7], "tokens": ["</s>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "merges": [],
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "<s>": 6, "</s>": 7}}})",
      "letters");
}

TEST(Documents, PrefixCountsAndSuffixIsDroppedWhenCut) {
  const Tokenizer tokenizer = letters();
  DocumentOptions options = options_of(4);
  options.min_tokens = 1;
  const auto set = select({text_of("ab"), text_of("abc"), text_of("abcdef"), entry_of(0, 6)},
                          options, &tokenizer);
  ASSERT_EQ(set.documents.size(), 4U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{6, 0, 1, 7}));  // fits whole
  EXPECT_EQ(set.documents[1].tokens, (Tokens{6, 0, 1, 2}));  // the suffix alone is too much
  EXPECT_EQ(set.documents[2].tokens, (Tokens{6, 0, 1, 2}));
  EXPECT_EQ(set.documents[3].tokens, (Tokens{0, 1, 2, 3}));  // verbatim
  EXPECT_EQ(set.tokenizer_digest, tokenizer.digest());
}

TEST(Documents, KeepTheirOrderOnManyCores) {
  const Tokenizer tokenizer = letters();
  std::vector<CorpusEntry> entries;
  for (size_t i = 0; i < 500; ++i)
    entries.push_back(text_of(std::string(1 + i % 7, "abcdef"[i % 6])));
  DocumentOptions options = options_of(10);
  options.min_tokens = 1;
  const auto set = select(entries, options, &tokenizer);
  ASSERT_EQ(set.documents.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(set.documents[i].tokens,
              all_ids(tokenizer, std::get<std::string>(entries[i].content)));
    EXPECT_EQ(set.documents[i].index, static_cast<int64_t>(i));
  }
}

DocumentOptions chunks_of(int64_t context, int64_t blocks) {
  DocumentOptions options = options_of(context);
  options.chunk = true;
  options.blocks = blocks;
  return options;
}

// The first token of each document, in order: pieces of entry_of(n, ...) count on from n.
Tokens firsts(const DocumentSet& set) {
  Tokens tokens;
  for (const Document& document : set.documents) tokens.push_back(document.tokens.front());
  return tokens;
}

Tokens blocks_of(const DocumentSet& set, int64_t blocks) {
  Tokens tokens;
  for (const Document& document : set.documents)
    tokens.push_back(static_cast<int32_t>(document.block(blocks)));
  return tokens;
}

TEST(Chunks, APieceBeginsAsATextDoesAndTheLastOneMayEnd) {
  const Tokenizer tokenizer = letters();
  DocumentOptions options = chunks_of(4, 16);
  options.min_tokens = 2;
  const auto set = select({text_of("abcdefab"), text_of("abcdef")}, options, &tokenizer);
  ASSERT_EQ(set.documents.size(), 5U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{6, 0, 1, 2}));
  EXPECT_EQ(set.documents[1].tokens, (Tokens{6, 3, 4, 5}));
  EXPECT_EQ(set.documents[2].tokens, (Tokens{6, 0, 1, 7}));  // the text ends, and the end fits
  EXPECT_EQ(set.documents[4].tokens, (Tokens{6, 3, 4, 5}));  // the end alone is too much
  EXPECT_EQ(set.entries_read, 2);
  EXPECT_EQ(set.texts, 2);
  EXPECT_EQ(set.total_tokens, 20);
}

TEST(Chunks, TheShortRestIsSkippedAndCounted) {
  const auto set = select({entry_of(0, 11), entry_of(20, 3), entry_of(30, 4)}, chunks_of(4, 16));
  EXPECT_EQ(firsts(set), (Tokens{0, 4, 30}));
  EXPECT_EQ(set.skipped_short, 2);
  EXPECT_EQ(set.longest_skipped, 3);
  EXPECT_EQ(set.texts, 2);  // one text gave no piece
}

TEST(Chunks, OneTextGivesEveryBlockARunOfNeighbours) {
  const auto set = select({entry_of(0, 20)}, chunks_of(2, 4));
  // Pieces 0 to 9 in four runs: 0 1 2, 3 4, 5 6 7, 8 9; read in turn.
  EXPECT_EQ(firsts(set), (Tokens{0, 6, 10, 16, 2, 8, 12, 18, 4, 14}));
  EXPECT_EQ(blocks_of(set, 4), (Tokens{0, 1, 2, 3, 0, 1, 2, 3, 0, 2}));
  for (size_t i = 0; i < set.documents.size(); ++i)
    EXPECT_EQ(set.documents[i].index, static_cast<int64_t>(i));
}

TEST(Chunks, PiecesOfOneTextShareABlockWhereTextsSuffice) {
  const auto set =
      select({entry_of(0, 6), entry_of(10, 2), entry_of(20, 2), entry_of(30, 4)}, chunks_of(2, 3));
  EXPECT_EQ(firsts(set), (Tokens{0, 10, 20, 2, 4, 30, 32}));
  EXPECT_EQ(blocks_of(set, 3), (Tokens{0, 1, 2, 0, 0, 0, 0}));
}

TEST(Chunks, SayWhichBlocksTheyAreIn) {
  // The same pieces in the same order, but the last one belongs to another text.
  const auto of = [](int64_t first, int64_t second) {
    return select({entry_of(0, first), entry_of(50, second)}, chunks_of(2, 2));
  };
  const auto one = of(4, 2), same = of(4, 2), moved = of(2, 4);
  EXPECT_EQ(one.chunk_blocks_digest, same.chunk_blocks_digest);
  EXPECT_EQ(one.texts, moved.texts);
  EXPECT_NE(one.chunk_blocks_digest, moved.chunk_blocks_digest);
  EXPECT_EQ(select({entry_of(0, 4)}, options_of(2)).chunk_blocks_digest, "");
}

TEST(Chunks, OfOnePieceEachAreTheDocumentsThemselves) {
  std::vector<CorpusEntry> entries;
  for (int32_t i = 0; i < 40; ++i) entries.push_back(entry_of(i, 5));
  const auto whole = select(entries, options_of(5));
  const auto cut = select(entries, chunks_of(5, 16));
  EXPECT_EQ(firsts(cut), firsts(whole));
  EXPECT_EQ(blocks_of(cut, 16), blocks_of(whole, 16));
}

TEST(Chunks, FewerPiecesThanBlocksHaveABlockEach) {
  EXPECT_EQ(blocks_of(select({entry_of(0, 6)}, chunks_of(2, 16)), 16), (Tokens{0, 5, 10}));
}

TEST(Chunks, ThoseAfterTheFirstAreOthers) {
  // Pieces are dealt to blocks, so the first documents change when more are read.
  DocumentOptions options = chunks_of(2, 4);
  options.documents = 6;
  const DocumentSet first = select({entry_of(0, 40)}, options);
  options.after = 6;
  const DocumentSet next = select({entry_of(0, 40)}, options);
  ASSERT_EQ(next.documents.size(), 6U);
  std::set<int32_t> begins;
  for (const DocumentSet* set : {&first, &next}) {
    for (const Document& document : set->documents) begins.insert(document.tokens.front());
  }
  EXPECT_EQ(begins.size(), 12U);
  EXPECT_EQ(*begins.rbegin(), 22) << "one after the other";
}

TEST(Chunks, TheFirstDocumentsAreTaken) {
  DocumentOptions options = chunks_of(2, 16);
  options.documents = 3;
  const auto set = select({entry_of(0, 4), entry_of(10, 40), entry_of(97, 4)}, options);
  EXPECT_EQ(firsts(set), (Tokens{0, 2, 10}));
  EXPECT_EQ(set.entries_read, 2);
}

TEST(Chunks, HaveIdsOfTheirOwn) {
  const auto set = select({entry_of(0, 4, "doc-3"), entry_of(10, 4, int64_t{7}), entry_of(20, 4)},
                          chunks_of(2, 16));
  ASSERT_EQ(set.documents.size(), 6U);
  // As in ExampleIds, of b"doc-3#1" and b"7#0".
  EXPECT_EQ(set.documents[1].example_id, 933048084810877482);
  EXPECT_EQ(set.documents[2].example_id, 2703953890892319460);
  EXPECT_EQ(set.documents[5].example_id, 5);
}

TEST(Chunks, RefuseAContextThatThePrefixFills) {
  const Tokenizer tokenizer = letters();
  EXPECT_THROW(select({text_of("abc")}, chunks_of(1, 16), &tokenizer), UsageError);
}

TEST(Documents, RefusesAnotherModelsTokenizer) {
  const Tokenizer tokenizer = letters();
  DocumentOptions options = options_of(4);
  options.vocabulary_size = 5;
  try {
    select({text_of("af")}, options, &tokenizer);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "a.txt: token 0 is 6; expected an id from 0 to 4, the model's vocabulary; is this "
              "the model's "
              "tokenizer?");
  }
}

TEST(Documents, Digests) {
  const auto set = select({entry_of(1, 3), entry_of(0, 257)}, [] {
    DocumentOptions options = options_of(300);
    options.min_tokens = 1;
    options.vocabulary_size = 300;
    return options;
  }());
  // hashlib.sha256(struct.pack("<3i", 1, 2, 3)).hexdigest()[:16], and of 257 and 256 from 0 on
  EXPECT_EQ(set.documents[0].digest, 0x4636993d3e1da4e9U);
  EXPECT_EQ(set.documents[0].prefix_digest, set.documents[0].digest);
  EXPECT_EQ(set.documents[1].digest, 0x05b4f1100dddcd0cU);
  EXPECT_EQ(set.documents[1].prefix_digest, 0x8808405eec6fbe30U);
}

}  // namespace
}  // namespace ropewalk
