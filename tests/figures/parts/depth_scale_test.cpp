#include "ropewalk/figures/parts/depth_scale.h"

#include <gtest/gtest.h>

#include "ropewalk/figures/parts/theme.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

DepthScale scale_of(const std::string& key, const std::vector<double>& numbers) {
  return {all_views()[view_index(key)], numbers};
}

TEST(DepthScale, WithoutNegativesIsThePublishedOne) {
  const DepthScale scale = scale_of("r_k", {0.2, 0.9, -0.004});
  EXPECT_FALSE(scale.has_negatives());
  EXPECT_EQ(scale.domain().front(), 0);
  EXPECT_EQ(scale.domain().back(), 1);
  EXPECT_EQ(scale.range(), Json(theme::kReds));
  EXPECT_EQ(scale.color(0.5), theme::ramp_color(theme::kReds, 0.5));
  EXPECT_EQ(scale.color(-0.004), theme::kReds.front());
}

TEST(DepthScale, HasAStepBelowZero) {
  for (const char* key : {"r_q", "r_k", "drift_cos"}) {
    const DepthScale scale = scale_of(key, {0.9, -0.3});
    const theme::ColorRamp& above = theme::hue_ramp(all_views()[view_index(key)].view->hue);
    EXPECT_TRUE(scale.has_negatives());
    EXPECT_EQ(scale.domain().front(), -0.5);
    EXPECT_EQ(scale.color(0), above.front());
    EXPECT_EQ(scale.color(-0.004), above.front()) << "printed as 0.00";
    EXPECT_EQ(scale.text(-0.004), "0.00");
    EXPECT_EQ(scale.color(-0.0051), scale.color(-0.005));
    EXPECT_NE(scale.color(-0.0051), above.front()) << key;
    EXPECT_EQ(scale.text(-0.0051), "−0.01");
    // Equally dark on both sides, but never the same colour.
    EXPECT_NE(scale.color(-0.3), scale.color(0.3)) << key;
    EXPECT_NE(scale.color(-0.3), scale.color(-0.0051)) << key;
  }
}

TEST(DepthScale, FitsNumbersWithoutLimits) {
  const DepthScale bias = scale_of("bias_context", {0.4, 2.08, -0.09});
  EXPECT_EQ(bias.domain().back(), 2.5);
  EXPECT_EQ(bias.ticks(), Json::parse("[-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5]"));
  EXPECT_EQ(bias.text(-0.09), "−0.09");
  const DepthScale rank = scale_of("rank90_q", {3.6, 25.4});
  EXPECT_EQ(rank.domain().back(), 30);
  EXPECT_EQ(rank.text(3.61), "3.6");
  const DepthScale small = scale_of("bias_strength", {0.0183, -0.0009});
  EXPECT_EQ(small.unit(), 0.01);
  // The legend uses the unit of the cells.
  EXPECT_EQ(small.ticks().back(), 0.02);
  EXPECT_EQ(small.tick_texts(),
            Json::parse(R"j({"labelExpr": "format(datum.value / 0.01, '.3~g')"})j"));
  EXPECT_EQ(bias.tick_texts(), Json::parse(R"({"format": ".3~g"})"));
  EXPECT_EQ(small.text(0.0183), "1.83");
  EXPECT_EQ(small.text(-0.0009), "−0.09");
  EXPECT_NE(small.color(-0.0009), small.color(0));
  const DepthScale large = scale_of("logit_const", {12340, 5e307});
  EXPECT_EQ(large.unit(), 1e307);
  EXPECT_EQ(large.text(5e307), "5.00");
  EXPECT_EQ(scale_of("logit_const", {1234}).text(1234), "1234");
  EXPECT_EQ(scale_of("logit_const", {12340}).text(12340), "1.23");
  EXPECT_EQ(scale_of("bias_strength", {}).domain().back(), 1);
  EXPECT_EQ(scale_of("bias_strength", {0, 0}).domain().back(), 1);
}

}  // namespace
}  // namespace ropewalk
