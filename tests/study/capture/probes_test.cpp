#include "ropewalk/study/capture/probes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace {

ProbeWords many_words(std::vector<int32_t> prefix) {
  ProbeWords words{std::vector<int32_t>(5000), std::move(prefix)};
  std::iota(words.ids.begin(), words.ids.end(), 10);
  return words;
}

std::set<int64_t> distances(const ProbeSet& set) {
  std::set<int64_t> found;
  for (const auto& [index, piece] : set.pieces) {
    if (probe_kind(piece) == "induction_far") found.insert(piece.period);
  }
  return found;
}

TEST(Probes, OnlyThoseThatFitIntoTheContext) {
  const ProbeWords words = many_words({1});
  EXPECT_EQ(shortest_probe(words), 101);
  EXPECT_TRUE(make_probes(words, 100).pieces.empty());
  EXPECT_EQ(make_probes(words, 101).pieces.size(), 2 * kProbeSequences);
  EXPECT_EQ(distances(make_probes(words, 115)), std::set<int64_t>{64});
  EXPECT_EQ(distances(make_probes(words, 4096)), (std::set<int64_t>{64, 256, 1024}));
  EXPECT_EQ(distances(make_probes(words, 4096 + 51)), (std::set<int64_t>{64, 256, 1024, 4096}));
}

TEST(Probes, AreTheSameAtEveryContext) {
  const ProbeWords words = many_words({});
  const ProbeSet some = make_probes(words, 100), all = make_probes(words, 400);
  ASSERT_LT(some.pieces.size(), all.pieces.size());
  for (size_t i = 0; i < some.documents.documents.size(); ++i) {
    EXPECT_EQ(some.documents.documents[i].tokens, all.documents.documents[i].tokens);
    EXPECT_EQ(some.documents.documents[i].digest, all.documents.documents[i].digest);
  }
}

TEST(Probes, CopiesAreWhereTheirNumbersSay) {
  for (const auto& [index, piece] : make_probes(many_words({1, 2}), 400).pieces) {
    for (const int64_t t : piece.copied()) {
      ASSERT_GE(t, piece.begin + piece.period);
      ASSERT_LT(t, piece.tokens());
      for (const int64_t behind : piece.behind_earlier(t)) {
        EXPECT_EQ((t - behind + 1) % piece.period, 0);
        EXPECT_GT(behind, piece.begin);
      }
    }
    EXPECT_EQ(piece.copied().size(), static_cast<size_t>((piece.copies - 1) * piece.length));
  }
  EXPECT_EQ((CopiedPiece{1, 25, 25, 4}.behind_earlier(80)), (std::vector<int64_t>{56, 31, 6}));
}

TEST(Probes, AreWrittenWithAllThatIsNeededToComputeThemAgain) {
  const ProbeSet set = make_probes(many_words({7}), 200);
  const std::string text = format_probes(set, {"a"});
  const Json first = Json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["kind"], "induction");
  EXPECT_EQ(first["tokens"], Json(set.documents.documents[0].tokens));
  EXPECT_EQ(first["begin"], 1);
  EXPECT_EQ(first["models"], Json({"a"}));
}

TEST(Probes, WithoutATokenizerAllIdsAreWords) {
  EXPECT_EQ(find_probe_words({}, 12).ids.size(), 12U);
  EXPECT_THROW(find_probe_words({}, 1), InputError);
}

}  // namespace
}  // namespace ropewalk
