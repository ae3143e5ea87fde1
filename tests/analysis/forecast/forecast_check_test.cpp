#include "ropewalk/analysis/forecast/forecast_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ropewalk {
namespace {

TEST(ForecastCheck, RanksShareTies) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 1, 2}, {1, 2, 3}), std::sqrt(3) / 2, 1e-12);
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2}, {1, 2}))) << "two settings always agree or not";
  EXPECT_TRUE(std::isnan(rank_correlation({1, 1, 1}, {1, 2, 3})));
}

TEST(ForecastCheck, RangesAreMadeOfWholeBins) {
  const auto at_two_powers = compared_ranges(512, 2048);
  ASSERT_EQ(at_two_powers.size(), 3U);
  EXPECT_EQ(at_two_powers[0].range, (PositionRange{0, 2047}));
  EXPECT_EQ(at_two_powers[1].range, (PositionRange{0, 512}));
  EXPECT_EQ(at_two_powers[2].range, (PositionRange{512, 2047}));
  const auto between = compared_ranges(1000, 3000);
  EXPECT_EQ(between[1].range, (PositionRange{0, 512}));
  EXPECT_EQ(between[2].range, (PositionRange{1024, 2999}));
  EXPECT_EQ(compared_ranges(1000, 1010).size(), 2U) << "no bin begins beyond training";
}

// Three documents of five tokens, two of one text; two settings and a third that is worse late.
TEST(ForecastCheck, LossesAreMeansOverTokens) {
  ForecastLosses losses;
  losses.documents.groups = {0, 0, 1};
  losses.documents.tokens = {5, 5, 5};
  const at::Tensor sums =
      at::tensor({1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0}, at::kDouble).view({3, 3});
  losses.sums = {sums};
  const SettingLoss all = setting_loss(losses, 0, {0, 4});
  EXPECT_EQ(all.tokens, 12);
  EXPECT_NEAR(all.loss, 15.0 / 12, 1e-12);
  // residuals of the two texts: 9 - 8 * 1.25 and 6 - 4 * 1.25
  EXPECT_NEAR(all.se, std::sqrt(2.0 / 1 * (1 + 1)) / 12, 1e-12);
  const SettingLoss late = setting_loss(losses, 0, {2, 4});
  EXPECT_EQ(late.tokens, 6);
  EXPECT_NEAR(late.loss, 6.0 / 6, 1e-12);
}

}  // namespace
}  // namespace ropewalk
