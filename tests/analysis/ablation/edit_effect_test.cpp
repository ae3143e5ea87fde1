#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ropewalk/analysis/ablation/edit_effect.h"

namespace ropewalk {
namespace {

// 33 tokens: positions 0, 1, [2, 4), [4, 8), [8, 16) and [16, 32).
constexpr int64_t kTokens = 33;
constexpr int64_t kBins = 6;
constexpr double kPredictions = kTokens - 1;

LossDocuments documents_of(int64_t count) {
  LossDocuments documents;
  documents.tokens.assign(static_cast<size_t>(count), kTokens);
  for (int64_t i = 0; i < count; ++i) documents.groups.push_back(i);
  return documents;
}

at::Tensor sums_of(const std::vector<double>& per_token) {
  const at::Tensor widths = at::tensor({1., 1., 2., 4., 8., 16.}, at::kDouble);
  return at::outer(at::tensor(per_token, at::kDouble), widths);
}

EditSums edited(const std::vector<double>& per_token) {
  return {sums_of(per_token), sums_of(std::vector<double>(per_token.size(), 0.25))};
}

TEST(EditEffect, MeansErrorsAndBins) {
  const EditSums before{sums_of({3, 4, 5, 4}), {}};
  EditComparison one;
  one.edited = edited({3.5, 4.3, 5.4, 4.4});
  const auto effects = measure_effect(documents_of(4), before, one);
  ASSERT_EQ(effects.size(), 1u + kBins);
  EXPECT_EQ(effects[0].end, 0);
  EXPECT_EQ(effects[0].tokens, 4 * (kTokens - 1));
  EXPECT_NEAR(effects[0].loss, 4, 1e-12);
  EXPECT_NEAR(effects[0].dloss, 0.4, 1e-12);
  EXPECT_NEAR(effects[0].dloss_se, std::sqrt((0.01 + 0.01) / 3 / 4), 1e-12);
  EXPECT_NEAR(effects[0].kl, 0.25, 1e-12);
  EXPECT_FALSE(effects[0].real.has_value()) << "nothing to hold it against";
  EXPECT_TRUE(std::isnan(effects[0].p));
  EXPECT_EQ(effects[6].begin, 16);
  EXPECT_EQ(effects[6].end, 32);
  EXPECT_EQ(effects[6].tokens, 4 * 16);
  EXPECT_NEAR(effects[6].dloss, 0.4, 1e-12);
}

TEST(EditEffect, PiecesOfATextAreOneGroup) {
  LossDocuments documents = documents_of(4);
  documents.groups = {7, 7, 9, 9};
  const EditSums before{sums_of({3, 3, 3, 3}), {}};
  const EditEffect effect = measure_change(documents, before, edited({3.1, 3.3, 3.4, 3.6}));
  EXPECT_EQ(effect.groups, 2);
  EXPECT_NEAR(effect.dloss, 0.35, 1e-12);
  EXPECT_NEAR(effect.dloss_se, std::sqrt(2 * 0.15 * 0.15) / std::sqrt(2.0), 1e-12);
}

TEST(EditEffect, ShorterDocumentsCountByTheirTokens) {
  LossDocuments documents = documents_of(3);
  documents.tokens = {kTokens, 5, 1};
  EditSums before{at::zeros({3, kBins}, at::kDouble), {}},
      after{at::zeros({3, kBins}, at::kDouble), at::zeros({3, kBins}, at::kDouble)};
  before.loss[0].copy_(sums_of({3})[0]);
  after.loss[0].copy_(sums_of({3.5})[0]);
  for (int64_t bin = 0; bin < 3; ++bin) after.loss[1][bin] = bin < 2 ? 0.25 : 0.5;
  EditComparison one;
  one.edited = after;
  const auto effects = measure_effect(documents, before, one);
  EXPECT_EQ(effects[0].tokens, 32 + 4);
  EXPECT_EQ(effects[0].groups, 2) << "one document predicts nothing";
  EXPECT_NEAR(effects[0].dloss, (16 + 1) / 36.0, 1e-12);
  EXPECT_EQ(effects[6].groups, 1);
  EXPECT_EQ(effects[6].tokens, 16);
  EXPECT_TRUE(std::isnan(effects[6].dloss_se));
}

// The effect of a set whose loss change is `mine` with small noise, compared with controls.
EditEffect effect_of(double mine, const std::vector<double>& controls) {
  const EditSums before{sums_of({3, 4, 5, 4}), {}};
  EditComparison one;
  one.edited = edited({3 + mine + 0.01, 4 + mine - 0.01, 5 + mine, 4 + mine});
  for (const double control : controls) {
    one.controls.push_back(edited({3 + control, 4 + control, 5 + control, 4 + control}));
  }
  return measure_effect(documents_of(4), before, one).front();
}

TEST(EditEffect, IsRealAboveEveryControl) {
  std::vector<double> controls;
  for (int i = 0; i < 20; ++i) controls.push_back(0.1 + 0.01 * i);
  const EditEffect above = effect_of(0.5, controls);
  EXPECT_NEAR(above.p, 1.0 / 21, 1e-12);
  EXPECT_TRUE(*above.real);
  EXPECT_NEAR(above.control, 0.195, 1e-12);
  const double sd = 0.01 * std::sqrt(35.0);  // standard deviation of 0 … 19, n - 1
  EXPECT_NEAR(above.control_sd, sd, 1e-12);
  EXPECT_NEAR(above.z_control, (0.5 - 0.195) / (sd * std::sqrt(1 + 1.0 / 20)), 1e-9);
  EXPECT_NEAR(above.p_t, 3.70769e-5, 1e-10);
  const EditEffect within = effect_of(0.285, controls);
  EXPECT_NEAR(within.p, 2.0 / 21, 1e-12);
  EXPECT_FALSE(*within.real);
  EXPECT_FALSE(within.below_controls);
  EXPECT_TRUE(effect_of(0.05, controls).below_controls);
  EXPECT_FALSE(*effect_of(0.05, controls).real);
  controls.pop_back();
  EXPECT_FALSE(effect_of(0.5, controls).real.has_value()) << "19 are too few to say";
  controls.assign(20, -1);
  controls[3] = -2;
  EXPECT_FALSE(*effect_of(0.001, controls).real)
      << "above the controls, but no cost over documents";
}

TEST(EditEffect, BesideRemoval) {
  const EditSums before{sums_of({3, 4, 5, 4}), {}};
  EditComparison one;
  one.edited = edited({3.5, 4.3, 5.4, 4.4});
  one.removed = edited({4.0, 4.9, 6.1, 4.8});
  one.controls = {edited({3.1, 4.1, 5.1, 4.1}), edited({3.2, 4.2, 5.2, 4.2}), edited({3, 4, 5, 4})};
  one.controls_removed = {edited({3.2, 4.2, 5.3, 4.2}), edited({3.8, 4.8, 5.8, 4.8}),
                          edited({4, 3, 6, 3})};
  const EditEffect effect = measure_effect(documents_of(4), before, one).front();
  EXPECT_NEAR(effect.removal, 0.95, 1e-12);
  EXPECT_NEAR(effect.of_removal, 0.4 / 0.95, 1e-12);
  // The ratio without each document is (1.6 - c) / (3.8 - r); the jackknife uses its spread.
  const double changes[] = {0.5, 0.3, 0.4, 0.4}, removals[] = {1.0, 0.9, 1.1, 0.8};
  double mean = 0, squares = 0;
  for (int i = 0; i < 4; ++i) mean += (1.6 - changes[i]) / (3.8 - removals[i]) / 4;
  for (int i = 0; i < 4; ++i) {
    squares += std::pow((1.6 - changes[i]) / (3.8 - removals[i]) - mean, 2);
  }
  EXPECT_NEAR(effect.of_removal_se, std::sqrt(squares * 3 / 4), 1e-9);
  EXPECT_NEAR(effect.of_removal_control, (0.4 + 0.8 + 0) / (0.9 + 3.2 + 0), 1e-12);
  EXPECT_NEAR(effect.of_removal_low, 0.25, 1e-12);
  EXPECT_NEAR(effect.of_removal_high, 0.4 / 0.9, 1e-12) << "the third one's removal is noise";
  one.removed = edited({3.5, 3.6, 5.5, 3.5});
  const EditEffect small = measure_effect(documents_of(4), before, one).front();
  EXPECT_TRUE(small.small_removal);
  EXPECT_TRUE(std::isnan(small.of_removal));
}

// The set and its controls are random directions from the same distribution. Whatever effects such
// edits have and however documents differ, one in twenty-one is above the twenty others.
TEST(EditEffect, RandomDirectionsAreSeldomCalledReal) {
  constexpr int kComparisons = 2000, kDocuments = 16;
  std::mt19937_64 random(41);
  std::normal_distribution<double> normal;
  int real = 0;
  for (int i = 0; i < kComparisons; ++i) {
    EditSums before;
    std::vector<double> loss;
    for (int d = 0; d < kDocuments; ++d) loss.push_back(3 + 0.4 * normal(random));
    before.loss = sums_of(loss);
    const auto draw = [&] {
      const double effect = 0.2 * std::exp(0.5 * normal(random));  // losses are skewed
      std::vector<double> changed = loss;
      for (double& one : changed) one += effect * (1 + 0.3 * normal(random));
      return edited(changed);
    };
    EditComparison one;
    one.edited = draw();
    for (int c = 0; c < 20; ++c) one.controls.push_back(draw());
    const EditEffect effect = measure_effect(documents_of(kDocuments), before, one).front();
    ASSERT_TRUE(effect.real.has_value());
    real += *effect.real;
  }
  EXPECT_LE(real, 0.07 * kComparisons);
  EXPECT_GE(real, 0.02 * kComparisons) << "a test that never says so says nothing";
}

}  // namespace
}  // namespace ropewalk
