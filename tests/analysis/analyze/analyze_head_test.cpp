#include "ropewalk/analysis/analyze/analyze_head.h"

#include <gtest/gtest.h>

#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 8, kDim = 3, kDocuments = 3;

// Small integers that drift with position; kind 0 is for queries, 1 for keys.
std::vector<at::Tensor> documents(int kind) {
  const double slopes[2][kDim] = {{1.0, -0.5, 0.25}, {0.5, 0.75, -1.0}};
  std::vector<at::Tensor> made;
  for (int64_t document = 0; document < kDocuments; ++document) {
    made.push_back(at::zeros({kTokens, kDim}, at::kDouble));
    auto x = made.back().accessor<double, 2>();
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t j = 0; j < kDim; ++j) {
        const int64_t noise = (7 * t + 13 * j + 5 * document + 3 * t * j + 4 * kind) % 11 - 5;
        x[t][j] = static_cast<double>(noise) * (kind == 0 ? 1 : 0.5) +
                  static_cast<double>(t) * slopes[kind][j];
      }
    }
  }
  return made;
}

CheckpointTable analyzed() {
  CheckpointTable checkpoint;
  const HeadReplicates head = make_replicates(leave_one_out(stream_input(documents(0))),
                                              leave_one_out(stream_input(documents(1))), 10);
  add_head(checkpoint, {4, 5, 2, false}, head, std::vector<double>(kDocuments, 2 * kTokens));
  return checkpoint;
}

// Compares with the results of numpy: cov, eigh and corrcoef of the same vectors, with and without
// each document.
void expect_column(const std::string& key, const std::vector<double>& values,
                   const std::vector<double>& errors) {
  const CheckpointTable checkpoint = analyzed();
  const HeadColumn& column = checkpoint.column(key);
  ASSERT_EQ(column.value.size(), values.size());
  for (size_t c = 0; c < values.size(); ++c) {
    EXPECT_NEAR(column.value[c], values[c], 1e-12) << key << " of PC" << c;
    EXPECT_NEAR(column.se[c], errors[c], 1e-12) << key << "_se of PC" << c;
  }
  EXPECT_EQ(column.replicates.size(), static_cast<size_t>(kDocuments));
}

TEST(Statistic, ExplainedVarianceAsNumpy) {
  expect_column("explained_variance", {0.5522816609700334, 0.2792243956790583, 0.16849394335090823},
                {0.060293319966242855, 0.050693616557706725, 0.01583597170553695});
}

TEST(Statistic, QueryCorrelationAsNumpy) {
  // On PC2 |r_q| is below 0.05, so r_k gives the sign.
  expect_column("r_q", {0.4399678094762404, 0.5929369323408891, -0.034808225016170063},
                {0.34806700175769095, 0.17210331729482145, 0.13958274440571647});
}

TEST(Statistic, KeyCorrelationAsNumpy) {
  expect_column("r_k", {-0.8592784097885966, 0.7699792399872466, 0.10108386513319634},
                {0.026213528764027102, 0.00613659272824094, 0.4594332913009551});
}

TEST(Statistic, StabilityAsNumpy) {
  const CheckpointTable checkpoint = analyzed();
  const HeadColumn& column = checkpoint.column("pc0_stability");
  for (const double value : column.value) EXPECT_NEAR(value, 0.9826271607497741, 1e-12);
  for (const double se : column.se) EXPECT_TRUE(std::isnan(se));
}

TEST(AnalyzeHead, WhetherALayerRotatesMayBeUnknown) {
  CheckpointTable checkpoint;
  const HeadReplicates head = make_replicates(leave_one_out(stream_input(documents(0))),
                                              leave_one_out(stream_input(documents(1))), 1);
  add_head(checkpoint, {4, 5, 2, std::nullopt}, head, std::vector<double>(kDocuments, 2 * kTokens));
  EXPECT_EQ(checkpoint.rope, std::vector<int64_t>{CheckpointTable::kUnknown});
}

TEST(AnalyzeHead, WritesARowPerComponent) {
  const CheckpointTable checkpoint = analyzed();
  EXPECT_EQ(checkpoint.layer, std::vector<int64_t>(kDim, 4));
  EXPECT_EQ(checkpoint.q_head, std::vector<int64_t>(kDim, 5));
  EXPECT_EQ(checkpoint.kv_head, std::vector<int64_t>(kDim, 2));
  EXPECT_EQ(checkpoint.rope, std::vector<int64_t>(kDim, 0));
  EXPECT_EQ(checkpoint.pc, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(checkpoint.n_q, std::vector<int64_t>(kDim, kTokens * kDocuments));
  EXPECT_EQ(checkpoint.n_blocks, std::vector<int64_t>(kDim, kDocuments));
  EXPECT_EQ(checkpoint.flag, std::vector<std::string>(kDim, "few_blocks"));
}

}  // namespace
}  // namespace ropewalk
