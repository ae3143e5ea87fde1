#include "ropewalk/figures/parts/theme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ropewalk {
namespace {

// CIE L* of "#rrggbb": the lightness of a colour, independent of its hue.
double lightness(std::string_view hex) {
  const auto channel = [&](size_t i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double y = 0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2);
  return 116 * std::cbrt(y) - 16;
}

TEST(Theme, ColoursDifferInLightness) {
  EXPECT_GT(std::abs(lightness(theme::kQueries) - lightness(theme::kKeys)), 15);
  // Colours that can touch in a stack differ clearly, and any two differ a little.
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    for (size_t j = i + 1; j < kHeadClasses.size(); ++j) {
      EXPECT_GT(std::abs(lightness(theme::class_color(kHeadClasses[i])) -
                         lightness(theme::class_color(kHeadClasses[j]))),
                4)
          << class_name(kHeadClasses[i]) << " " << class_name(kHeadClasses[j]);
    }
  }
}

TEST(Theme, RampsRunFromLightToDark) {
  for (const theme::ColorRamp* ramp : {&theme::kBlues, &theme::kReds}) {
    EXPECT_EQ(theme::ramp_color(*ramp, 0), ramp->front());
    EXPECT_EQ(theme::ramp_color(*ramp, 1), ramp->back());
    EXPECT_EQ(theme::ramp_color(*ramp, -0.4), ramp->front());
    EXPECT_EQ(theme::ramp_color(*ramp, 0.5), (*ramp)[4]);
    for (int i = 1; i <= 20; ++i) {
      EXPECT_LT(lightness(theme::ramp_color(*ramp, i / 20.0)),
                lightness(theme::ramp_color(*ramp, (i - 1) / 20.0)));
    }
  }
}

TEST(Theme, InkContrastsWithItsGround) {
  EXPECT_EQ(theme::text_color_on("#ffffff"), theme::kInk);
  EXPECT_EQ(theme::text_color_on("#08306b"), theme::kWhite);
}

TEST(Theme, WritesNumbers) {
  EXPECT_EQ(theme::decimals(0.125, 2), "0.12");
  EXPECT_EQ(theme::decimals(-0.25, 1), "−0.2");
  EXPECT_EQ(theme::decimals(-0.001, 2), "0.00");
  EXPECT_TRUE(theme::number(std::nan("")).is_null());
}

TEST(Theme, TitlesFit) {
  const Json spec = theme::begin_figure(std::string(300, 'x'), "What it shows", "Sub", 600);
  const std::string title = spec["title"]["text"];
  EXPECT_TRUE(title.ends_with("… · What it shows"));
  EXPECT_LT(title.size(), 100u);
  EXPECT_EQ(theme::begin_figure("", "Only", "", 600)["title"]["text"], "Only");
}

TEST(Theme, ALegendIsNoWiderThanItsPlot) {
  EXPECT_EQ(theme::legend_columns({"a", "b"}, 660), 11);
  EXPECT_EQ(theme::legend_columns({"step1680@256", "step1680@512"}, 660), 4);
  EXPECT_EQ(theme::legend_columns({std::string(200, 'w')}, 660), 1);
}

}  // namespace
}  // namespace ropewalk
