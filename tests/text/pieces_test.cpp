// Texts that are cut into documents.
#include <gtest/gtest.h>

#include <set>

#include "ropewalk/base/error.h"
#include "tests/text/small_corpus.h"

namespace ropewalk {
namespace {

using Tokens = std::vector<int32_t>;

DocumentOptions chunks_of(int64_t context, int64_t blocks) {
  DocumentOptions options = document_options(context);
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
  const Tokenizer tokenizer = letter_tokenizer();
  DocumentOptions options = chunks_of(4, 16);
  options.min_tokens = 2;
  const auto set = select_from({text_of("abcdefab"), text_of("abcdef")}, options, &tokenizer);
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
  const auto set =
      select_from({entry_of(0, 11), entry_of(20, 3), entry_of(30, 4)}, chunks_of(4, 16));
  EXPECT_EQ(firsts(set), (Tokens{0, 4, 30}));
  EXPECT_EQ(set.skipped_short, 2);
  EXPECT_EQ(set.longest_skipped, 3);
  EXPECT_EQ(set.texts, 2);  // one gave nothing
}

TEST(Chunks, OneTextGivesEveryBlockARunOfNeighbours) {
  const auto set = select_from({entry_of(0, 20)}, chunks_of(2, 4));
  // Pieces 0 to 9 in four runs: 0 1 2, 3 4, 5 6 7, 8 9; read in turn.
  EXPECT_EQ(firsts(set), (Tokens{0, 6, 10, 16, 2, 8, 12, 18, 4, 14}));
  EXPECT_EQ(blocks_of(set, 4), (Tokens{0, 1, 2, 3, 0, 1, 2, 3, 0, 2}));
  for (size_t i = 0; i < set.documents.size(); ++i)
    EXPECT_EQ(set.documents[i].index, static_cast<int64_t>(i));
}

TEST(Chunks, PiecesOfOneTextShareABlockWhereTextsSuffice) {
  const auto set = select_from({entry_of(0, 6), entry_of(10, 2), entry_of(20, 2), entry_of(30, 4)},
                               chunks_of(2, 3));
  EXPECT_EQ(firsts(set), (Tokens{0, 10, 20, 2, 4, 30, 32}));
  EXPECT_EQ(blocks_of(set, 3), (Tokens{0, 1, 2, 0, 0, 0, 0}));
}

TEST(Chunks, SayWhichBlocksTheyAreIn) {
  // The same pieces in the same order, and the last one of them in another text.
  const auto of = [](int64_t first, int64_t second) {
    return select_from({entry_of(0, first), entry_of(50, second)}, chunks_of(2, 2));
  };
  const auto one = of(4, 2), same = of(4, 2), moved = of(2, 4);
  EXPECT_EQ(one.chunk_blocks_digest, same.chunk_blocks_digest);
  EXPECT_EQ(one.texts, moved.texts);
  EXPECT_NE(one.chunk_blocks_digest, moved.chunk_blocks_digest);
  EXPECT_EQ(select_from({entry_of(0, 4)}, document_options(2)).chunk_blocks_digest, "");
}

TEST(Chunks, OfOnePieceEachAreTheDocumentsThemselves) {
  std::vector<CorpusEntry> entries;
  for (int32_t i = 0; i < 40; ++i) entries.push_back(entry_of(i, 5));
  const auto whole = select_from(entries, document_options(5));
  const auto cut = select_from(entries, chunks_of(5, 16));
  EXPECT_EQ(firsts(cut), firsts(whole));
  EXPECT_EQ(blocks_of(cut, 16), blocks_of(whole, 16));
}

TEST(Chunks, FewerPiecesThanBlocksHaveABlockEach) {
  EXPECT_EQ(blocks_of(select_from({entry_of(0, 6)}, chunks_of(2, 16)), 16), (Tokens{0, 5, 10}));
}

TEST(Chunks, ThoseAfterTheFirstAreOthers) {
  // Pieces are dealt to blocks, so that the first of more are not the same.
  DocumentOptions options = chunks_of(2, 4);
  options.documents = 6;
  const DocumentSet first = select_from({entry_of(0, 40)}, options);
  options.after = 6;
  const DocumentSet next = select_from({entry_of(0, 40)}, options);
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
  const auto set = select_from({entry_of(0, 4), entry_of(10, 40), entry_of(97, 4)}, options);
  EXPECT_EQ(firsts(set), (Tokens{0, 2, 10}));
  EXPECT_EQ(set.entries_read, 2);
}

TEST(Chunks, HaveIdsOfTheirOwn) {
  const auto set = select_from(
      {entry_of(0, 4, "doc-3"), entry_of(10, 4, int64_t{7}), entry_of(20, 4)}, chunks_of(2, 16));
  ASSERT_EQ(set.documents.size(), 6U);
  // As in ExampleIds, of b"doc-3#1" and b"7#0".
  EXPECT_EQ(set.documents[1].example_id, 933048084810877482);
  EXPECT_EQ(set.documents[2].example_id, 2703953890892319460);
  EXPECT_EQ(set.documents[5].example_id, 5);
}

TEST(Chunks, RefuseAContextThatThePrefixFills) {
  const Tokenizer tokenizer = letter_tokenizer();
  EXPECT_THROW(select_from({text_of("abc")}, chunks_of(1, 16), &tokenizer), UsageError);
}

}  // namespace
}  // namespace ropewalk
