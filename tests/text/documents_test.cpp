#include "ropewalk/text/documents.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/text/tokenizer.h"
#include "tests/text/all_ids.h"
#include "tests/text/small_corpus.h"

namespace ropewalk {
namespace {

using Tokens = std::vector<int32_t>;

// The warnings about a corpus of these entries.
std::string warnings(std::vector<CorpusEntry> entries, const DocumentOptions& options) {
  std::string said;
  log::set_sink([&](log::Level level, std::string_view line) {
    said += fmt::format("{}{}\n", level == log::Level::warning ? "warning: " : "", line);
  });
  select_from(std::move(entries), options);
  log::set_sink({});
  return said;
}

TEST(Documents, SaysHowManyRepeatAnother) {
  std::vector<CorpusEntry> entries = entries_of(8, 4);
  EXPECT_EQ(warnings(entries, document_options(4)), "");
  entries.push_back(entry_of(0, 4));
  entries.push_back(entry_of(7, 5));
  EXPECT_EQ(warnings(entries, document_options(4)).substr(0, 64),
            "warning: corpus: 2 of 10 documents repeat another one, token by ");
}

TEST(Documents, SaysThatFewerAreThereThanAskedFor) {
  DocumentOptions options = document_options(4);
  options.documents = 12;
  EXPECT_EQ(warnings(entries_of(12, 4), options), "");
  options.documents = 500;
  EXPECT_EQ(warnings(entries_of(12, 4), options),
            "warning: corpus: expected 500 documents, found 12; 0 shorter ones "
            "skipped\n");
}

TEST(Documents, SaysThatTheyAreTooFew) {
  EXPECT_EQ(warnings(entries_of(7, 4), document_options(4)),
            "warning: corpus: 7 documents are too few for reliable standard errors; give at least "
            "8, or cut long texts into several documents (chunk)\n");
}

TEST(Documents, SkipsAndCountsEmptyOnes) {
  const auto set = select_from({text_of(""), entry_of(0, 4), entry_of(0, 0), entry_of(0, 3)},
                               document_options(4));
  EXPECT_EQ(set.documents.size(), 1U);
  EXPECT_EQ(set.entries_read, 4);
  EXPECT_EQ(set.skipped_empty, 2);
  EXPECT_EQ(set.skipped_short, 1);
  EXPECT_EQ(set.describe_skipped(), "1 shorter and 2 empty ones skipped");
  EXPECT_EQ(selection_error({text_of(""), entry_of(0, 0)}, document_options(4)),
            "corpus: all 2 documents are empty");
}

TEST(Documents, KeepsTheFirstLongEnoughAndCutsThem) {
  DocumentOptions options = document_options(4);
  options.documents = 2;
  const auto set = select_from(
      {entry_of(0, 3), entry_of(10, 4), entry_of(20, 2), entry_of(30, 9), entry_of(40, 9)},
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
  DocumentOptions options = document_options(4);
  options.after = 1;
  options.documents = 2;
  const auto entries = [] {
    return std::vector{entry_of(0, 4), entry_of(10, 3), entry_of(20, 5), entry_of(30, 4),
                       entry_of(40, 4)};
  };
  const DocumentSet set = select_from(entries(), options);
  ASSERT_EQ(set.documents.size(), 2U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{20, 21, 22, 23}));
  EXPECT_EQ(set.documents[0].index, 0);
  EXPECT_EQ(set.documents[1].tokens, (Tokens{30, 31, 32, 33}));
  EXPECT_EQ(set.skipped_short, 1);
  options.documents = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(select_from(entries(), options).documents.size(), 3U);
  options.after = 4;
  EXPECT_EQ(selection_error(entries(), options),
            "corpus: has 4 documents that are long enough, expected more than 4");
}

TEST(Documents, KeepsShortOnesWhenAsked) {
  DocumentOptions options = document_options(4);
  options.min_tokens = 2;
  const auto set = select_from({entry_of(0, 1), entry_of(10, 2), entry_of(20, 5)}, options);
  ASSERT_EQ(set.documents.size(), 2U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{10, 11}));
  EXPECT_EQ(set.documents[1].tokens.size(), 4U);
}

TEST(Documents, ExampleIds) {
  const auto set = select_from(
      {entry_of(0, 1), entry_of(1, 5, int64_t{-7}), entry_of(2, 5, "doc-3"), entry_of(3, 5)},
      document_options(5));
  ASSERT_EQ(set.documents.size(), 3U);
  EXPECT_EQ(set.documents[0].example_id, -7);
  // int.from_bytes(hashlib.blake2b(b"doc-3", digest_size=8).digest(), "little", signed=True)
  EXPECT_EQ(set.documents[1].example_id, -6722110773860770310);
  EXPECT_EQ(set.documents[2].example_id, 2);  // its index among those kept
}

TEST(Documents, RefusesUnknownIds) {
  EXPECT_EQ(selection_error({entry_of(97, 4)}, document_options(2)),
            "a.jsonl:98: token 3 is 100; expected an id from 0 to 99, the model's vocabulary");
  EXPECT_EQ(selection_error({entry_of(-1, 4)}, document_options(2)),
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
  DocumentOptions options = document_options(4);
  options.documents = 2;
  FailingCorpus enough;
  EXPECT_EQ(select_documents(enough, nullptr, options).documents.size(), 2U);
  options.documents = 3;
  FailingCorpus corpus;
  EXPECT_THROW(select_documents(corpus, nullptr, options), InputError);
  options.documents = 1;
  EXPECT_EQ(select_from({entry_of(0, 4), entry_of(97, 4)}, options).documents.size(), 1U);
}

TEST(Documents, RefusesTextWithoutTokenizer) {
  EXPECT_EQ(selection_error({text_of("abc")}, document_options(2)),
            "a.txt: is text, but no tokenizer.json was found; name one, or give token ids; "
            "transformers writes one from vocab.json and merges.txt or from tokenizer.model, with "
            "AutoTokenizer.from_pretrained(model).save_pretrained(folder)");
}

TEST(Documents, SaysHowLongTheLongestIs) {
  EXPECT_EQ(
      selection_error({entry_of(0, 3), entry_of(10, 7), entry_of(20, 5)}, document_options(8)),
      "corpus: no document has 8 tokens: the longest of 3, a.jsonl:11, has 7; lower the context or "
      "min_tokens");
  EXPECT_EQ(selection_error({}, document_options(8)), "corpus: holds no documents");
}

TEST(Documents, RefusesSenselessOptions) {
  EXPECT_THROW(select_from({entry_of(0, 3)}, document_options(0)), UsageError);
  for (const int64_t min_tokens : {0, 5}) {
    DocumentOptions options = document_options(4);
    options.min_tokens = min_tokens;
    EXPECT_THROW(select_from({entry_of(0, 4)}, options), UsageError);
  }
  DocumentOptions none = document_options(4);
  none.documents = 0;
  EXPECT_THROW(select_from({entry_of(0, 4)}, none), UsageError);
  DocumentOptions no_vocabulary = document_options(4);
  no_vocabulary.vocabulary_size = 0;
  EXPECT_THROW(select_from({entry_of(0, 4)}, no_vocabulary), UsageError);
}

TEST(Documents, PrefixCountsAndSuffixIsDroppedWhenCut) {
  const Tokenizer tokenizer = letter_tokenizer();
  DocumentOptions options = document_options(4);
  options.min_tokens = 1;
  const auto set = select_from({text_of("ab"), text_of("abc"), text_of("abcdef"), entry_of(0, 6)},
                               options, &tokenizer);
  ASSERT_EQ(set.documents.size(), 4U);
  EXPECT_EQ(set.documents[0].tokens, (Tokens{6, 0, 1, 7}));  // fits whole
  EXPECT_EQ(set.documents[1].tokens, (Tokens{6, 0, 1, 2}));  // the suffix alone is too much
  EXPECT_EQ(set.documents[2].tokens, (Tokens{6, 0, 1, 2}));
  EXPECT_EQ(set.documents[3].tokens, (Tokens{0, 1, 2, 3}));  // verbatim
  EXPECT_EQ(set.tokenizer_digest, tokenizer.digest());
}

TEST(Documents, KeepTheirOrderOnManyCores) {
  const Tokenizer tokenizer = letter_tokenizer();
  std::vector<CorpusEntry> entries;
  for (size_t i = 0; i < 500; ++i)
    entries.push_back(text_of(std::string(1 + i % 7, "abcdef"[i % 6])));
  DocumentOptions options = document_options(10);
  options.min_tokens = 1;
  const auto set = select_from(entries, options, &tokenizer);
  ASSERT_EQ(set.documents.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(set.documents[i].tokens,
              all_ids(tokenizer, std::get<std::string>(entries[i].content)));
    EXPECT_EQ(set.documents[i].index, static_cast<int64_t>(i));
  }
}

TEST(Documents, RefusesAnotherModelsTokenizer) {
  const Tokenizer tokenizer = letter_tokenizer();
  DocumentOptions options = document_options(4);
  options.vocabulary_size = 5;
  try {
    select_from({text_of("af")}, options, &tokenizer);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "a.txt: token 0 is 6; expected an id from 0 to 4, the model's vocabulary; is this "
              "the model's "
              "tokenizer?");
  }
}

TEST(Documents, Digests) {
  const auto set = select_from({entry_of(1, 3), entry_of(0, 257)}, [] {
    DocumentOptions options = document_options(300);
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
