// What rows give to certain keys, against loops in float64.
#include "ropewalk/kernels/rows/attention_at.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

constexpr int64_t kRowTokens = 70, kRowDim = 6;

QueryRows make_rows(const ScoreOptions& scores) {
  QueryRows rows;
  rows.t = {0, 5, 33, 69};
  rows.q =
      random_tensor({4, kRowTokens, kRowDim}, 1).index_select(1, at::tensor(rows.t, at::kLong)) * 2;
  rows.k = random_tensor({2, kRowTokens, kRowDim}, 2);
  rows.kv = {0, 0, 1, 1};
  rows.scores = scores;
  return rows;
}

// p of one key.
double expected(const QueryRows& rows, int64_t head, int64_t row, int64_t key) {
  const ScoreOptions& scores = rows.scores;
  const int64_t t = rows.t[static_cast<size_t>(row)];
  const at::Tensor q = rows.q[head][row].to(at::kDouble);
  const auto weight = [&](int64_t j) {
    double score =
        (q * rows.k[rows.kv[static_cast<size_t>(head)]][j].to(at::kDouble)).sum().item<double>();
    score *= scores.scale;
    if (scores.cap) score = *scores.cap * std::tanh(score / *scores.cap);
    if (scores.slopes.defined()) {
      score -= scores.slopes[head].item<double>() * static_cast<double>(t - j);
    }
    const bool seen = j <= t && (!scores.window || t - j < *scores.window);
    return seen ? std::exp(score) : 0;
  };
  double total = scores.sinks.defined() ? std::exp(scores.sinks[head].item<double>()) : 0;
  for (int64_t j = 0; j <= t; ++j) total += weight(j);
  return weight(key) / total;
}

class AttentionAt : public testing::TestWithParam<ScoreOptions> {};

TEST_P(AttentionAt, SumsOverKeysOfEachRow) {
  const QueryRows rows = make_rows(GetParam());
  const std::vector<KeysOfRows> lists{{{0}, {1, 4, 5}, {}, {68, 60, 0}}, {{0}, {4}, {32}, {69}}};
  const at::Tensor found = attention_at(rows, lists);
  ASSERT_EQ(found.sizes(), at::IntArrayRef({4, 4, 2}));
  for (int64_t head = 0; head < 4; ++head) {
    for (int64_t row = 0; row < 4; ++row) {
      for (size_t list = 0; list < lists.size(); ++list) {
        double sum = 0;
        for (const int64_t key : lists[list][static_cast<size_t>(row)]) {
          sum += expected(rows, head, row, key);
        }
        EXPECT_NEAR(found[head][row][static_cast<int64_t>(list)].item<double>(), sum, 1e-6)
            << head << " " << row << " " << list;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scores, AttentionAt,
    testing::Values(ScoreOptions{.scale = 0.4}, ScoreOptions{.scale = 0.4, .window = 9},
                    ScoreOptions{.scale = 0.4, .cap = 0.7},
                    ScoreOptions{.scale = 0.4, .slopes = alibi_slopes(4)},
                    ScoreOptions{.scale = 0.4, .window = 30, .sinks = random_tensor({4}, 3)}));

}  // namespace
}  // namespace ropewalk
