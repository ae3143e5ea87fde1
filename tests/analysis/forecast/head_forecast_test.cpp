#include "ropewalk/analysis/forecast/head_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/replicates/centre_product.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlocks = 16, kPairs = 6, kTrained = 64, kContext = 256;

// A head's mean query and key, and how it turns under a setting that slows every pair.
struct MadeHead {
  at::Tensor query, key;  // [2 * pairs]
  RopeLayer layer;
  at::Tensor slowed;

  MadeHead() {
    query = at::randn({2 * kPairs}, at::kDouble);
    key = at::randn({2 * kPairs}, at::kDouble);
    layer.first = at::arange(kPairs, at::kLong);
    layer.second = layer.first + kPairs;
    layer.rest = at::empty({0}, at::kLong);
    layer.theta = at::pow(200.0, at::arange(kPairs, at::kDouble) / -double{kPairs});
    slowed = layer.theta * at::pow(0.5, at::arange(kPairs, at::kDouble) / double{kPairs});
  }
  at::Tensor logits(const at::Tensor& q, const at::Tensor& k, const at::Tensor& theta) const {
    return product_by_distance(centre_product(layer, q, k), theta, 1, kContext);
  }
};

// Means of blocks of documents around the true one, as [1 + blocks, d]: all, and without each.
at::Tensor measured(const at::Tensor& truth, double noise, const std::vector<double>& sizes) {
  const at::Tensor n = at::tensor(sizes, at::kDouble).unsqueeze(1);
  const at::Tensor blocks =
      truth + noise * at::randn({kBlocks, truth.size(0)}, at::kDouble) / n.sqrt();
  const at::Tensor sums = blocks * n, all = sums.sum(0, true);
  return at::cat({all / n.sum(), (all - sums) / (n.sum() - n)});
}

struct Coverage {
  int inside = 0, of = 0;
  void add(bool covered) {
    inside += covered ? 1 : 0;
    ++of;
  }
  double share() const { return static_cast<double>(inside) / of; }
};

TEST(HeadForecast, ErrorsCoverOnSimulatedCaptures) {
  at::manual_seed(7);
  std::vector<double> sizes;
  for (int64_t b = 0; b < kBlocks; ++b) sizes.push_back(b % 3 == 0 ? 2 : 1);
  const std::vector<double> whole{1};
  const double t = student_t_95(kBlocks - 1);
  Coverage disturbance, excursion, score, moved;
  for (int head = 0; head < 40; ++head) {
    const MadeHead made;
    const auto exact = [&](const at::Tensor& theta) {
      return made.logits(made.query.unsqueeze(0), made.key.unsqueeze(0), theta);
    };
    const HeadForecast truth =
        TrainedLogits(exact(made.layer.theta), kTrained, whole).compare(exact(made.slowed));
    for (int capture = 0; capture < 15; ++capture) {
      const at::Tensor q = measured(made.query, 0.3, sizes), k = measured(made.key, 0.3, sizes);
      const HeadForecast found = TrainedLogits(made.logits(q, k, made.layer.theta), kTrained, sizes)
                                     .compare(made.logits(q, k, made.slowed));
      const auto covers = [&](const Estimate& one, double value) {
        return std::abs(one.value - value) <= t * one.se;
      };
      disturbance.add(covers(found.disturbance, truth.disturbance.value));
      score.add(covers(found.score, truth.score.value));
      if (truth.excursion.value > 0.3) {
        excursion.add(covers(found.excursion, truth.excursion.value));
      }
      moved.add(truth.moved >= found.moved_low && truth.moved <= found.moved_high);
    }
  }
  EXPECT_GT(disturbance.share(), 0.91);
  EXPECT_LT(disturbance.share(), 0.99);
  EXPECT_GT(score.share(), 0.9);
  ASSERT_GT(excursion.of, 40);
  EXPECT_GT(excursion.share(), 0.9);
  EXPECT_GT(moved.share(), 0.62);  // nominally 68 %
}

// Two pairs, whose logits are written down by hand.
TEST(HeadForecast, MeasuresWhatItSays) {
  const std::vector<double> one{1};
  const at::Tensor own = at::tensor({1.0, 2.0, 0.0, 5.0, 4.0}, at::kDouble).unsqueeze(0);
  const at::Tensor then = at::tensor({1.0, 1.0, 3.0, 9.0, 2.5}, at::kDouble).unsqueeze(0);
  const HeadForecast found = TrainedLogits(own, 3, one).compare(then);
  // weights 1, 1/2, 1/3
  EXPECT_NEAR(found.disturbance.value, std::sqrt((0.5 * 1 + 9.0 / 3) / (1 + 0.5 + 1.0 / 3)), 1e-12);
  EXPECT_NEAR(found.excursion.value, 9 - 2, 1e-12);
  // changes 0, -1, 3: their mean is 0.5 / (11 / 6), and all logits shift by it
  const double shift = (-0.5 + 1) / (11.0 / 6);
  EXPECT_NEAR(found.shift.value, shift, 1e-12);
  EXPECT_NEAR(found.score.value, 9 - shift - 2, 1e-12);
  EXPECT_EQ(found.preferred, 1);
  EXPECT_EQ(found.preferred_then, 3);
  EXPECT_NEAR(found.moved, 1, 1e-12);
  EXPECT_TRUE(std::isnan(found.disturbance.se) && std::isnan(found.moved_low));
}

// A constant added to all logits changes nothing that the softmax sees.
TEST(HeadForecast, TheScoreIgnoresWhatAllDistancesShare) {
  at::manual_seed(1);
  const std::vector<double> one{1};
  const at::Tensor own = at::randn({1, 40}, at::kDouble), then = own + at::randn({1, 40}) * 0.1;
  const TrainedLogits known(own, 16, one);
  const HeadForecast found = known.compare(then), shifted = known.compare(then + 5);
  EXPECT_NEAR(shifted.score.value, found.score.value, 1e-12);
  EXPECT_NEAR(shifted.shift.value, found.shift.value + 5, 1e-12);
  EXPECT_GT(shifted.disturbance.value, 4);
}

TEST(HeadForecast, ASettingWithoutDistancesPrefersNone) {
  const std::vector<double> one{1};
  const at::Tensor own = at::tensor({1.0, 2.0, 0.0}, at::kDouble).unsqueeze(0);
  const HeadForecast found = TrainedLogits(own, 2, one).compare(at::ones_like(own));
  EXPECT_EQ(found.preferred, 1);
  EXPECT_FALSE(found.preferred_then);
  EXPECT_TRUE(std::isnan(found.moved) && std::isnan(found.moved_low));
}

TEST(HeadForecast, NothingBeyondTrainingIsNoExcursion) {
  const std::vector<double> one{1};
  const at::Tensor own = at::tensor({1.0, 2.0}, at::kDouble).unsqueeze(0);
  const HeadForecast found = TrainedLogits(own, 2, one).compare(own);
  EXPECT_EQ(found.disturbance.value, 0);
  EXPECT_EQ(found.excursion.value, 0);
  EXPECT_EQ(found.moved, 0);
}

TEST(HeadForecast, MeansHaveTheErrorOfAllHeadsTogether) {
  const std::vector<double> sizes{1, 1, 1, 1};
  const Estimate up{1, 0, {1.1, 0.9, 1.1, 0.9}}, down{1, 0, {0.9, 1.1, 0.9, 1.1}};
  const Estimate mean = mean_estimate({up, down}, sizes);
  EXPECT_NEAR(mean.value, 1, 1e-12);
  EXPECT_NEAR(mean.se, 0, 1e-12) << "what one head gains the other loses";
}

}  // namespace
}  // namespace ropewalk
