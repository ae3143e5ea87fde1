#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "tests/analysis/math/resampled.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

TEST(StudentT, KnownQuantiles) {
  EXPECT_NEAR(student_t_95(1), 12.706205, 1e-5);
  EXPECT_NEAR(student_t_95(7), 2.364624, 1e-5);
  EXPECT_NEAR(student_t_95(15), 2.131450, 1e-5);
  EXPECT_NEAR(student_t_95(1e6), 1.959966, 1e-4);
  EXPECT_TRUE(std::isinf(student_t_95(0)));
  EXPECT_NEAR(student_t_cdf(-2.0, 5), 0.05096974, 1e-7);
  EXPECT_NEAR(student_t_cdf(2.0, 5), 1 - 0.05096974, 1e-7);
  EXPECT_DOUBLE_EQ(student_t_cdf(0, 3), 0.5);
}

TEST(Jackknife, OfAMeanIsTheTextbookStandardError) {
  const std::vector<double> data{1, 4, 2, 8, 5};
  double sum = 0;
  for (const double x : data) sum += x;
  const double mean = sum / 5;
  std::vector<double> replicates;
  double squares = 0;
  for (const double x : data) {
    replicates.push_back((sum - x) / 4);
    squares += (x - mean) * (x - mean);
  }
  const std::vector<double> sizes(5, 3.0);
  EXPECT_NEAR(jackknife_se(mean, replicates, sizes), std::sqrt(squares / 4 / 5), 1e-12);
}

TEST(Jackknife, UnequalBlocksAndEmptyOnes) {
  // For a mean over blocks of sizes m, pseudo-values are the block means, whatever m is.
  const std::vector<double> sizes{1, 2, 3, 0};
  const std::vector<double> means{3, 6, 1, 99};
  const double n = 6;
  const double total = 3 * 1 + 6 * 2 + 1 * 3;
  std::vector<double> replicates;
  for (size_t b = 0; b < 4; ++b)
    replicates.push_back((total - sizes[b] * means[b]) / (n - sizes[b]));
  double variance = 0;
  for (size_t b = 0; b < 3; ++b) {
    variance += std::pow(means[b] - total / n, 2) / (n / sizes[b] - 1) / 3;
  }
  EXPECT_NEAR(jackknife_se(total / n, replicates, sizes), std::sqrt(variance), 1e-12);
  EXPECT_TRUE(std::isnan(jackknife_se(1, std::vector<double>{1}, std::vector<double>{5})));
}

TEST(Taxonomy, ThresholdsAreStrict) {
  EXPECT_EQ(classify(0.71, -0.71), HeadClass::position_dominated);
  EXPECT_EQ(classify(0.71, 0.29), HeadClass::q_positional);
  EXPECT_EQ(classify(0.29, -0.9), HeadClass::k_positional);
  EXPECT_EQ(classify(0.1, -0.1), HeadClass::content_focused);
  EXPECT_EQ(classify(0.7, 0.9), HeadClass::mixed);
  EXPECT_EQ(classify(0.9, 0.3), HeadClass::mixed);
  EXPECT_EQ(classify(0.3, 0.1), HeadClass::mixed);
  EXPECT_EQ(class_name(classify(0.5, 0.5)), "mixed");
}

TEST(Depth, BinsOf36Layers) {
  const int firsts[] = {0, 4, 8, 11, 15, 18, 22, 25, 29, 32, 36};
  for (int bin = 0; bin < kDepthBins; ++bin) {
    for (int layer = firsts[bin]; layer < firsts[bin + 1]; ++layer)
      EXPECT_EQ(depth_bin(layer, 35), bin) << layer;
  }
  EXPECT_EQ(depth_bin(0, 0), 0);
  EXPECT_EQ(depth_bin(1, 1), 9);
}

// A checkpoint whose heads have r_q and r_k of 0.9 and these replicates.
CheckpointTable positional(const std::vector<std::vector<double>>& heads) {
  CheckpointTable checkpoint;
  for (const std::vector<double>& replicates : heads) {
    const Estimate number{0.9, 0, replicates};
    add_made_head(checkpoint, 0, static_cast<int64_t>(checkpoint.rows()),
                  {{"r_q", number}, {"r_k", number}}, std::vector<double>(replicates.size(), 10));
  }
  return checkpoint;
}

TEST(ClassShares, AHeadWithoutAReplicateIsInNoClassOfADraw) {
  const double undefined = std::nan("");
  const CheckpointTable two = positional({{0.9, 0.9, 0.9}, {0.9, undefined, 0.9}});
  const ClassShares some = class_shares(whole_group(two));
  const auto positional_class = static_cast<size_t>(HeadClass::position_dominated);
  EXPECT_EQ(some.values[positional_class], 1);
  ASSERT_EQ(some.drawn.size(), kHeadClasses.size());
  for (const double share : some.drawn[positional_class]) ASSERT_EQ(share, 1);
  for (const double share : some.drawn[static_cast<size_t>(HeadClass::mixed)]) ASSERT_EQ(share, 0);
  // A fraction without a head in the draws has no error.
  const CheckpointTable one = positional({{0.9, undefined, 0.9}});
  const ClassShares none = class_shares(whole_group(one));
  EXPECT_EQ(none.values[positional_class], 1);
  EXPECT_TRUE(none.drawn.empty());
}

TEST(Resampling, AllDrawsAtOnce) {
  const std::vector<double> replicates{0.4, 0.55, 0.52, 0.47, 0.61};
  const std::vector<double> all = Resamples(5).of(0.5, replicates);
  const auto draws = block_draws(5);
  ASSERT_EQ(all.size(), draws.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], resampled(0.5, replicates, draws[i]));
}

TEST(Resampling, DrawsAreFixedAndCountBlocks) {
  const auto draws = block_draws(16);
  EXPECT_EQ(draws, block_draws(16));
  ASSERT_EQ(draws.size(), 1000u);
  std::vector<double> counts(16);
  for (const auto& draw : draws) {
    int sum = 0;
    for (size_t b = 0; b < 16; ++b) {
      sum += draw[b];
      counts[b] += draw[b];
    }
    EXPECT_EQ(sum, 16);
  }
  for (const double count : counts) EXPECT_NEAR(count, 1000, 150);
  // A draw with every block once changes nothing.
  const std::vector<double> replicates{0.4, 0.6};
  EXPECT_DOUBLE_EQ(resampled(0.5, replicates, std::vector<int>{1, 1}), 0.5);
  EXPECT_DOUBLE_EQ(resampled(0.5, replicates, std::vector<int>{2, 0}), 0.5 + 0.05 + 0.05);
}

}  // namespace
}  // namespace ropewalk
