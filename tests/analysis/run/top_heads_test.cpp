#include "ropewalk/analysis/run/summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

constexpr size_t kBlocks = 16;

// Heads with these numbers and errors of about 0.01.
CheckpointTable made(const std::string& label, const std::vector<double>& r2cv_q,
                     const std::vector<double>& logits) {
  CheckpointTable checkpoint;
  checkpoint.label = label;
  checkpoint.blocks = kBlocks;
  for (int64_t i = 0; i < static_cast<int64_t>(kBlocks); ++i)
    checkpoint.documents.emplace_back(i, 1);
  const auto number = [&](double value) {
    Estimate one{value, 0.01, {}};
    for (size_t b = 0; b < kBlocks; ++b) {
      one.replicates.push_back(value + (b % 2 == 0 ? 0.01 : -0.01) / 15);
    }
    return one;
  };
  for (size_t i = 0; i < r2cv_q.size(); ++i) {
    add_made_head(checkpoint, static_cast<int64_t>(i / 2), static_cast<int64_t>(i % 2),
                  {{"r_q", number(0.5)},
                   {"r_k", number(0.5)},
                   {"r2cv_q", number(r2cv_q[i])},
                   {"logit_pos_share", number(logits[i])}},
                  std::vector<double>(kBlocks, 100));
  }
  checkpoint.axes.assign(r2cv_q.size(), {{1, 0}, 1, 1});
  return checkpoint;
}

// The list of heads in the summary; null: there is none.
Json ranked(const std::vector<CheckpointTable>& run) {
  return summarize(run).summary.value("top_heads", Json());
}

std::vector<std::pair<int64_t, int64_t>> heads_of(const Json& list) {
  std::vector<std::pair<int64_t, int64_t>> heads;
  for (const Json& one : list) heads.emplace_back(one["layer"], one["q_head"]);
  return heads;
}

TEST(TopHeads, AreThoseThatChangedMostForTheirError) {
  const CheckpointTable first = made("a", {0.2, 0.3, 0.4, 0.5}, {0.1, 0.2, 0.3, 0.4});
  const CheckpointTable last = made("b", {0.2, 0.3, 0.9, 0.5}, {0.1, 0.5, 0.3, 0.4});
  const Json list = ranked({first, last});
  ASSERT_EQ(list.size(), 4u);
  using Head = std::pair<int64_t, int64_t>;
  EXPECT_EQ(heads_of(list), (std::vector<Head>{{1, 0}, {0, 1}, {0, 0}, {1, 1}})) << "ties by layer";
  EXPECT_EQ(list[0]["statistic"], "r2cv_q");
  EXPECT_EQ(list[1]["statistic"], "logit_pos_share");
  EXPECT_EQ(list[2]["score"], 0) << "within its error";
  EXPECT_NEAR(list[0]["score"].get<double>(),
              list[0]["effect"].get<double>() - list[0]["effect_se"].get<double>(), 1e-12);
  EXPECT_EQ(list[0]["from"], "a");
  EXPECT_TRUE(list[0]["changed"].get<bool>());
  EXPECT_NE(list[0]["sentence"].get<std::string>().find("rose from 0.40 at a to 0.90 at b"),
            std::string::npos)
      << list[0]["sentence"];
  EXPECT_NE(list[2]["sentence"].get<std::string>().find("no change"), std::string::npos);
}

TEST(TopHeads, OfAnotherAxisCountByR2Alone) {
  const CheckpointTable first = made("a", {0.2, 0.3, 0.4, 0.5}, {0.1, 0.2, 0.3, 0.4});
  CheckpointTable last = made("b", {0.2, 0.3, 0.9, 0.5}, {0.1, 0.5, 0.3, 0.4});
  last.axes[1].vector = {0, 1};
  const Json list = ranked({first, last});
  for (const Json& one : list) {
    const bool other = one["layer"] == 0 && one["q_head"] == 1;
    EXPECT_EQ(one["axis_changed"], other);
    if (!other) continue;
    EXPECT_EQ(one["statistic"], "r2cv_q");
    EXPECT_EQ(one["score"], 0);
    EXPECT_NE(one["sentence"].get<std::string>().find("another axis than at a"), std::string::npos);
  }
}

TEST(TopHeads, WithTheSameKeysAreOneLineWhereTheKeysChanged) {
  const auto with_keys = [](const std::string& label, const std::vector<double>& r2cv_q,
                            const std::vector<double>& r2cv_k) {
    CheckpointTable checkpoint = made(label, r2cv_q, {0.1, 0.2, 0.3, 0.4});
    HeadColumn& column = checkpoint.columns[statistic_index("r2cv_k")];
    column = checkpoint.columns[statistic_index("r2cv_q")];
    for (size_t i = 0; i < r2cv_k.size(); ++i) {
      for (size_t b = 0; b < kBlocks; ++b) {
        column.replicates[i * kBlocks + b] = r2cv_k[i] + (b % 2 == 0 ? 0.01 : -0.01) / 15;
      }
      column.value[i] = r2cv_k[i];
    }
    return checkpoint;
  };
  // In layer 0 the keys change; in layer 1 the queries of one head, which shares its keys.
  const auto first = with_keys("a", {0.2, 0.3, 0.4, 0.5}, {0.1, 0.1, 0.3, 0.3});
  auto last = with_keys("b", {0.2, 0.3, 0.8, 0.5}, {0.9, 0.9, 0.3, 0.3});
  using Lines = std::vector<std::vector<int64_t>>;
  const auto lines = [](const Json& list) {
    Lines heads;
    for (const Json& one : list) {
      EXPECT_EQ(one["q_head"], one["q_heads"][0]);
      heads.push_back({one["layer"].get<int64_t>()});
      for (const Json& head : one["q_heads"]) heads.back().push_back(head);
    }
    std::sort(heads.begin(), heads.end());
    return heads;
  };
  const Json list = ranked({first, last});
  EXPECT_EQ(lines(list), (Lines{{0, 0, 1}, {1, 0}, {1, 1}}));
  last.axes[1].vector = {0, 1};
  EXPECT_EQ(lines(ranked({first, last})), (Lines{{0, 0}, {0, 1}, {1, 0}, {1, 1}}))
      << "their axes say different things";
  last.axes[1] = first.axes[1];
  std::fill(last.kv_head.begin(), last.kv_head.end(), CheckpointTable::kUnknown);
  EXPECT_EQ(ranked({first, last}).size(), 4u) << "nobody knows their keys";
}

TEST(TopHeads, AreHeldAgainstRandomWeightsToo) {
  CheckpointTable random = made("0", {0.2, 0.3, 0.1, 0.9}, {0.1, 0.2, 0.3, 0.4});
  random.random = true;
  const CheckpointTable only = made("a", {0.2, 0.3, 0.4, 0.5}, {0.1, 0.2, 0.3, 0.4});
  const Json list = ranked({random, only});
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(heads_of(list)[0], (std::pair<int64_t, int64_t>{1, 1}));
  EXPECT_EQ(list[0]["from"], "0");
  const auto sentence = [](const Json& one) { return one["sentence"].get<std::string>(); };
  EXPECT_NE(sentence(list[0]).find("fell from 0.90 at 0 to 0.50 at a (−0.400 ±"), std::string::npos)
      << list[0] << ", with a true minus";
  CheckpointTable second = random;
  second.label = "1";
  EXPECT_NE(sentence(ranked({random, second, only})[0])
                .find("from 0.90 at 2 seeds of random weights to 0.50 at a"),
            std::string::npos);
  EXPECT_TRUE(ranked({only}).is_null()) << "nothing to hold it against";
  CheckpointTable other_model = only;
  other_model.independent_model = true;
  EXPECT_TRUE(ranked({other_model, other_model}).is_null()) << "several models";
}

}  // namespace
}  // namespace ropewalk
