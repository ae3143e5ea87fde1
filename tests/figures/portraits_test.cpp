#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/figures/figure.h"
#include "tests/figures/small_runs.h"

namespace ropewalk {
namespace {

TEST(Portraits, ShareTheirLimits) {
  const Json spec = portraits(small_run(10), {}, view_index("r_q"), view_index("r_k"));
  ASSERT_EQ(spec["concat"].size(), 6u);
  EXPECT_EQ(spec["columns"], 3);
  for (const Json& panel : spec["concat"]) {
    const Json& encoding = panel["layer"][2]["encoding"];
    EXPECT_EQ(encoding["x"]["scale"]["domain"], Json::parse("[-0.05, 1.05]"));
    EXPECT_EQ(encoding["y"]["scale"]["domain"], Json::parse("[-1.05, 1.05]"));
    EXPECT_EQ(encoding["shape"]["scale"]["domain"], Json::parse(R"(["RoPE", "NoPE"])"));
  }
}

TEST(Portraits, CutNoPoint) {
  const Json spec = portraits(small_run(1), {}, view_index("r_q"), view_index("r_k"));
  const Json& points = spec["concat"][0]["layer"].back();
  EXPECT_FALSE(points["mark"].value("clip", false));
  // What does not belong on the axes is left out by a filter instead.
  const Json outside = portraits(small_run_of_layers({{-0.4, 0.5}, {-0.04, 0.5}, {1.0, 1.0}}), {},
                                 view_index("r_q"), view_index("r_k"));
  EXPECT_EQ(outside["concat"][0]["title"]["subtitle"], "n = 3, 1 outside");
  const Json& rows = outside["datasets"]["heads 0"];
  EXPECT_TRUE(rows[0].value("outside", false));
  EXPECT_FALSE(rows[1].value("outside", false));
  EXPECT_FALSE(rows[2].value("outside", false));
  EXPECT_EQ(points["transform"][0]["filter"], "!datum.outside");
}

TEST(Portraits, OfAnyTwo) {
  const Json spec =
      portraits(small_run(2), {}, view_index("explained_variance"), view_index("abs_r_k"));
  const Json& panel = spec["concat"][0];
  ASSERT_EQ(panel["layer"].size(), 1u) << "no thresholds of classes";
  const Json& encoding = panel["layer"][0]["encoding"];
  EXPECT_EQ(encoding["x"]["field"], "explained_variance");
  EXPECT_EQ(encoding["y"]["field"], "abs_r_k");
  EXPECT_EQ(encoding["x"]["scale"]["domain"], Json::parse("[-0.05, 1.05]"));
  EXPECT_EQ(encoding["y"]["scale"]["domain"], Json::parse("[-0.05, 1.05]"));
  EXPECT_EQ(encoding["y"]["axis"]["title"], "|r_k| on PC0");
  EXPECT_EQ(spec["title"]["text"], "Heads by variance on PC0 and |r_k| on PC0")
      << "in words, not keys";
  EXPECT_EQ(spec["datasets"]["heads 0"][1]["abs_r_k"], 0.1);
  const Json lines = portraits(small_run(1), {}, view_index("r_k"), view_index("r_q"));
  EXPECT_EQ(lines["concat"][0]["layer"].size(), 3u) << "thresholds go with their axes";
}

std::string shown(const RunNumbers& run, const std::vector<std::string>& asked = {}) {
  std::string labels;
  for (const auto* numbers : portrait_checkpoints(run, {"", asked, {}, {}}))
    labels += numbers->label + " ";
  return labels;
}

TEST(Portraits, SpreadOverTheRunOrAreChosen) {
  EXPECT_EQ(shown(small_run(10)), "c0 c2 c4 c5 c7 c9 ");
  EXPECT_EQ(shown(small_run(3)), "c0 c1 c2 ");
  EXPECT_EQ(shown(small_run(1)), "c0 ");
  EXPECT_EQ(shown(small_run(10), {"c3", "c1"}), "c3 c1 ");
  try {
    shown(small_run(2), {"c7"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "portrait 'c7': qk.csv has no such checkpoint; it has c0, c1");
  }
}

}  // namespace
}  // namespace ropewalk
