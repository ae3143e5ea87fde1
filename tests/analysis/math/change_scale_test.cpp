#include "ropewalk/analysis/math/change_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {
namespace {

// A statistic without a scale does not compile.
static_assert(!std::is_default_constructible_v<ChangeScale>);
static_assert(!std::is_default_constructible_v<Statistic>);

TEST(ChangeScale, IsThatOfItsKind) {
  EXPECT_NEAR(ChangeScale(ChangeScale::correlation).of(-0.5), std::atanh(-0.5), 1e-12);
  EXPECT_TRUE(std::isfinite(ChangeScale(ChangeScale::correlation).of(1)));
  EXPECT_NEAR(ChangeScale(ChangeScale::r_squared).of(0.25), std::atanh(0.5), 1e-12);
  EXPECT_EQ(ChangeScale(ChangeScale::r_squared).of(-2), 0);
  EXPECT_NEAR(ChangeScale(ChangeScale::share).of(0.25), std::asin(0.5), 1e-12);
  EXPECT_NEAR(ChangeScale(ChangeScale::share).of(1.2), std::asin(1), 1e-12);
  EXPECT_EQ(ChangeScale(ChangeScale::size).of(8), 3);
  EXPECT_TRUE(std::isnan(ChangeScale(ChangeScale::size).of(0)));
  EXPECT_EQ(ChangeScale(ChangeScale::distance).of(7), 3);
  EXPECT_EQ(ChangeScale(ChangeScale::plain).of(-7), -7);
  EXPECT_EQ(ChangeScale(ChangeScale::part).of(1.5), 1.5);
  EXPECT_TRUE(std::isnan(ChangeScale(ChangeScale::share).of(std::nan(""))));
}

TEST(ChangeScale, HasAFloor) {
  EXPECT_EQ(ChangeScale(ChangeScale::correlation).floor(), 0.05);
  EXPECT_EQ(ChangeScale(ChangeScale::share).floor(), 0.05);
  EXPECT_EQ(ChangeScale(ChangeScale::size).floor(), 0.1);
  EXPECT_EQ(ChangeScale(ChangeScale::plain).floor(), 0.1);
}

TEST(RobustSpread, IsTheDistanceOfTheQuartiles) {
  // numpy: numpy.subtract(*numpy.percentile([1, 2, 4, 8, 100, 3], [75, 25])) / 1.349
  EXPECT_NEAR(robust_spread({1, 2, 4, std::nan(""), 8, 100, 3}), 4.75 / 1.349, 1e-12);
  EXPECT_EQ(robust_spread({3}), 0);
  EXPECT_TRUE(std::isnan(robust_spread({})));
}

}  // namespace
}  // namespace ropewalk
