// Logits by distance and preferences, each against loops over tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/math/resampling.h"
#include "tests/analysis/math/resampled.h"
#include "tests/analysis/replicates/rope_head.h"
#include "tests/analysis/statistics/column_values.h"

namespace ropewalk {
namespace {

// Logits of a made head, by loops over its documents' tokens.
class LogitsByHand {
 public:
  LogitsByHand(const RopeHead& made, int64_t row) : made_(made), row_(row) {
    q_ = centre(chosen(made.q_before, row));
    k_ = centre(chosen(made.k_before, row));
  }

  // Of the mean query at a position, with the mean key so many tokens before.
  double predicted(int64_t distance) const {
    const at::Tensor many = q_.expand({distance + 1, -1});
    return made_.scale *
               made_.turned(many)[distance].dot(made_.turned(k_.unsqueeze(0))[0]).item<double>() -
           made_.slope * static_cast<double>(distance);
  }

  struct Window {
    double predicted = 0, actual = 0, distance = 0, pairs = 0;
  };
  Window window(const DistanceWindow& of) const {
    Window sum;
    for (size_t d = 0; d < made_.blocks(); ++d) {
      if (static_cast<int64_t>(d) + 1 == row_) continue;
      const at::Tensor x = made_.turned(made_.q_before[d]), y = made_.turned(made_.k_before[d]);
      for (int64_t t = kFirstTokens; t < x.size(0); ++t) {
        for (int64_t n = kFirstTokens; n <= t; ++n) {
          if (t - n < of.begin || t - n >= of.end) continue;
          const auto apart = static_cast<double>(t - n);
          sum.predicted += predicted(t - n);
          sum.actual += made_.scale * x[t].dot(y[n]).item<double>() - made_.slope * apart;
          sum.distance += apart;
          sum.pairs += 1;
        }
      }
    }
    return {sum.predicted / sum.pairs, sum.actual / sum.pairs, sum.distance / sum.pairs, sum.pairs};
  }

 private:
  static at::Tensor centre(const std::vector<at::Tensor>& documents) {
    std::vector<at::Tensor> late;
    for (const at::Tensor& x : documents) late.push_back(x.slice(0, kFirstTokens));
    return at::cat(late).mean(0);
  }

  const RopeHead& made_;
  int64_t row_;
  at::Tensor q_, k_;
};

// Weighted, of pairs (weight, a, b).
double weighted_correlation(const std::vector<std::array<double, 3>>& points) {
  double n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  for (const auto& [w, x, y] : points) n += w, a += w * x, b += w * y;
  for (const auto& [w, x, y] : points) {
    aa += w * (x - a / n) * (x - a / n);
    bb += w * (y - b / n) * (y - b / n);
    ab += w * (x - a / n) * (y - b / n);
  }
  return ab / std::sqrt(aa * bb);
}

void expect_logits_by_distance(const RopeHead& made) {
  const HeadReplicates head = made.cases();
  const RopeLayer& layer = made.layer;
  for (int64_t row = 0; row <= head.blocks(); ++row) {
    const LogitsByHand logits(made, row);
    const at::Tensor curve = series_row(head, "dist_pred", row);
    const at::Tensor actual = series_row(head, "dist_actual", row);
    std::vector<std::array<double, 3>> points;
    double squares = 0, pairs = 0;
    for (size_t i = 0; i < layer.windows.size(); ++i) {
      const LogitsByHand::Window expected = logits.window(layer.windows[i]);
      const auto at = static_cast<int64_t>(i);
      EXPECT_NEAR(curve[at].item<double>(), expected.predicted, 1e-9) << i;
      EXPECT_NEAR(actual[at].item<double>(), expected.actual, 1e-9) << i;
      squares += expected.pairs * std::pow(expected.actual - expected.predicted, 2);
      pairs += expected.pairs;
      if (i > 0) points.push_back({expected.pairs, expected.predicted, expected.actual});
      if (row > 0) continue;
      const SeriesWindows windows = series()[series_index("dist_pred")]->windows(head);
      EXPECT_NEAR(windows.mean[i], expected.distance, 1e-9);
      EXPECT_EQ(windows.end[i], static_cast<double>(layer.windows[i].end));
    }
    double best = 0, high = -1e9, lowest = 1e9, near = 0, far = 0, all = 0, octaves = 0;
    for (int64_t distance = 0; distance < 48; ++distance) {
      const double found = logits.predicted(distance);
      if (found > high) best = static_cast<double>(distance);
      high = std::max(high, found);
      lowest = std::min(lowest, found);
      if (distance <= 16) near += found / 17;
      if (distance >= 12) far += found / 36;
      all += std::exp(found);
      octaves += std::exp(found) * std::log2(1 + static_cast<double>(distance));
    }
    EXPECT_EQ(value(head, "dist_argmax", row), best);
    EXPECT_NEAR(value(head, "dist_range", row), high - lowest, 1e-9);
    EXPECT_NEAR(value(head, "dist_near", row), near - far, 1e-9);
    EXPECT_NEAR(value(head, "dist_reach", row), octaves / all, 1e-9);
    EXPECT_NEAR(value(head, "dist_r", row), weighted_correlation(points), 1e-9);
    EXPECT_NEAR(value(head, "dist_content", row), std::sqrt(squares / pairs), 1e-9);
  }
  EXPECT_EQ(value(head, "dist_context"), 48);
}

class DistanceColumns : public testing::TestWithParam<bool> {};  // interleaved

TEST_P(DistanceColumns, LogitsByDistance) {
  at::manual_seed(3);
  expect_logits_by_distance(made_rope_head(GetParam(), true));
}

// The model's own bias of distance is in what is predicted and in what is found.
TEST_P(DistanceColumns, LogitsByDistanceWithABias) {
  at::manual_seed(7);
  RopeHead made = made_rope_head(GetParam(), true);
  made.slope = 0.125;
  expect_logits_by_distance(made);
}

TEST(DistancePreference, ABiasAloneIsAPreference) {
  at::manual_seed(8);
  RopeHead made = made_rope_head(false, false);
  made.slope = 0.25;
  expect_logits_by_distance(made);
  const HeadReplicates head = made.cases();
  EXPECT_EQ(value(head, "dist_argmax"), 0);
  EXPECT_NEAR(value(head, "dist_range"), 0.25 * 47, 1e-9);
}

// In a layer whose attention slides, no pair is farther apart, and no distance is asked for.
TEST(DistancePreference, PreferencesEndWhereAttentionDoes) {
  at::manual_seed(9);
  RopeHead made = made_rope_head(false, true);
  made.layer = made.with_distances(20);
  EXPECT_EQ(made.layer.windows.back(), (DistanceWindow{12, 20}));
  const HeadReplicates head = made.cases();
  const LogitsByHand logits(made, 0);
  double high = -1e9, low = 1e9;
  for (int64_t distance = 0; distance < 20; ++distance) {
    high = std::max(high, logits.predicted(distance));
    low = std::min(low, logits.predicted(distance));
  }
  EXPECT_NEAR(value(head, "dist_range"), high - low, 1e-9);
  EXPECT_EQ(value(head, "dist_context"), 20);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DistanceColumns, testing::Bool());

// Best distances of resamples of the curve, in octaves.
std::vector<double> drawn_octaves(const RopeHead& made) {
  std::vector<LogitsByHand> cases;
  for (int64_t row = 0; row <= 5; ++row) cases.emplace_back(made, row);
  std::vector<std::vector<double>> curves;  // by distance, then case
  for (int64_t distance = 0; distance < made.layer.span; ++distance) {
    std::vector<double>& curve = curves.emplace_back();
    for (const LogitsByHand& one : cases) curve.push_back(one.predicted(distance));
  }
  std::vector<double> octaves;
  for (const std::vector<int>& draw : block_draws(5)) {
    double high = -1e9, at = 0;
    for (size_t distance = 0; distance < curves.size(); ++distance) {
      const double drawn = resampled(curves[distance][0], {curves[distance].data() + 1, 5}, draw);
      if (drawn > high) at = static_cast<double>(distance);
      high = std::max(high, drawn);
    }
    octaves.push_back(std::log2(1 + at));
  }
  std::sort(octaves.begin(), octaves.end());
  return octaves;
}

TEST(DistancePreference, TheErrorOfTheBestDistanceIsHalfTheMiddleOfResamples) {
  at::manual_seed(4);
  RopeHead made = made_rope_head(false, true);
  // A centre of nothing but noise: which distance is the best hangs on the documents.
  for (at::Tensor& x : made.k_before) x = x + 1;
  CheckpointTable checkpoint;
  add_head(checkpoint, {0, 0, 0, true}, made.cases(), {96, 60, 6, 82, 96});
  const std::vector<double> octaves = drawn_octaves(made);
  const auto quantile = [&](double share) {
    const double at = share * 999;
    const auto below = static_cast<size_t>(at);
    return octaves[below] + (at - std::floor(at)) * (octaves[below + 1] - octaves[below]);
  };
  const double half = (quantile(0.84) - quantile(0.16)) / 2;
  EXPECT_GT(half, 0.5);
  EXPECT_NEAR(checkpoint.column("dist_argmax").se[0], half, 1e-9);
}

TEST(DistancePreference, ABestDistanceThatNoResampleMovesIsKnownToHalfAToken) {
  at::manual_seed(4);
  RopeHead made = made_rope_head(false, true);
  for (auto* side : {&made.q_before, &made.k_before}) {
    for (at::Tensor& x : *side) x = x * 1e-6 + 1;
  }
  CheckpointTable checkpoint;
  add_head(checkpoint, {0, 0, 0, true}, made.cases(), {96, 60, 6, 82, 96});
  const double best = checkpoint.column("dist_argmax").value[0];
  EXPECT_NEAR(checkpoint.column("dist_argmax").se[0],
              (std::log2(best + 1.5) - std::log2(best + 0.5)) / 2, 1e-9);
  EXPECT_EQ(checkpoint.head_flag[0].find("no_se"), std::string::npos) << checkpoint.head_flag[0];
}

}  // namespace
}  // namespace ropewalk
