#include <gtest/gtest.h>

#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/series_figures.h"

namespace ropewalk {
namespace {

// Two checkpoints with a RoPE head and a NoPE head; the second head only has curves at the second
// checkpoint.
RunTable made_table() {
  RunTable table = parse_qk_table(
      "checkpoint,layer,q_head,rope,pc,r_q,r_k\n"
      "a,0,1,1,0,0.5,0.25\na,3,0,0,0,0.5,0.25\nb,0,1,1,0,0.5,0.25\nb,3,0,0,0,0.5,0.25\n",
      "qk.csv");
  parse_series_table(table, SeriesTable::curves,
                     "checkpoint,layer,q_head,curve,x,value,value_se\n"
                     "a,0,1,dist_pred,0,1,0.5\na,0,1,dist_pred,8,2,\na,0,1,dist_actual,0,,\n"
                     "b,0,1,dist_pred,0,3,0.5\nb,0,1,dist_actual,0,5,1\n"
                     "b,3,0,dist_pred,0,-20,0.5\n",
                     "curves.csv");
  return table;
}

TEST(HeadDistance, EachHeadIsAPanelWithItsCheckpoints) {
  const RunTable table = made_table();
  FigureOptions options;
  options.asked.distance = {{0, 1}, {3, 0}};
  const Json spec = head_distance_figure(table, run_numbers(table), options);
  ASSERT_EQ(spec["concat"].size(), 2u);
  EXPECT_EQ(spec["concat"][0]["title"]["text"], "layer 0, head 1");
  EXPECT_EQ(spec["concat"][0]["title"]["subtitle"], "RoPE");
  EXPECT_EQ(spec["concat"][1]["title"]["text"], "layer 3, head 0");
  EXPECT_NE(spec["concat"][1]["title"]["subtitle"].get<std::string>().find("no RoPE"),
            std::string::npos);
  const Json& rows = spec["datasets"]["curves 0"];
  ASSERT_EQ(rows.size(), 4u);  // rows without a number are left out
  EXPECT_EQ(rows[0]["checkpoint"], "a");
  EXPECT_EQ(rows[0]["curve"], "predicted");
  EXPECT_EQ(rows[0]["logit"], 1);
  EXPECT_EQ(rows[0]["low"], 0.5);
  EXPECT_EQ(rows[0]["high"], 1.5);
  EXPECT_TRUE(rows[1]["se"].is_null());
  EXPECT_EQ(rows[3]["checkpoint"], "b");
  EXPECT_EQ(rows[3]["curve"], "actual");
  // The later checkpoint is darker, and the legend shows the same colours.
  const Json& color = spec["concat"][0]["layer"][1]["encoding"]["color"];
  EXPECT_EQ(color["field"], "checkpoint");
  EXPECT_EQ(color["scale"]["domain"], Json({"a", "b"}));
  EXPECT_EQ(color["scale"]["range"][0], rows[0]["color"]);
  EXPECT_EQ(color["scale"]["range"][1], rows[3]["color"]);
  EXPECT_EQ(rows[3]["color"], theme::ramp_color(theme::kPurples, 1));
  // Labels are next to their ticks, and none reaches beyond the frame: otherwise the titles of a
  // row would be at different heights.
  for (const Json& panel : spec["concat"]) {
    const Json& y = panel["layer"][1]["encoding"]["y"];
    EXPECT_FALSE(y["axis"].contains("labelFlush"));
    const double low = y["scale"]["domain"][0], high = y["scale"]["domain"][1];
    const double pixels = panel["height"].get<double>() / (high - low);
    ASSERT_GE(y["axis"]["values"].size(), 3u);
    for (const Json& tick : y["axis"]["values"]) {
      EXPECT_GE((tick.get<double>() - low) * pixels, 7) << tick;
      EXPECT_GE((high - tick.get<double>()) * pixels, 7) << tick;
    }
  }
  // Each head has its own axis, which contains its errors.
  const auto domain = [&](size_t panel) {
    return spec["concat"][panel]["layer"][1]["encoding"]["y"]["scale"]["domain"];
  };
  EXPECT_LT(domain(0)[0].get<double>(), 0.5);
  EXPECT_GT(domain(0)[1].get<double>(), 6);
  EXPECT_LT(domain(1)[1].get<double>(), -19);
}

TEST(HeadDistance, OfOneCheckpointColoursTellCurvesApart) {
  const RunTable table = made_table();
  FigureOptions options;
  options.asked.distance = {{0, 1}};
  options.portraits = {"b"};
  const Json spec = head_distance_figure(table, run_numbers(table), options);
  const Json& color = spec["concat"][0]["layer"][1]["encoding"]["color"];
  EXPECT_EQ(color["field"], "curve");
  EXPECT_EQ(color["scale"]["domain"], Json({"predicted", "actual"}));
  EXPECT_EQ(spec["datasets"]["curves 0"].size(), 2u);
  EXPECT_EQ(spec["title"]["subtitle"][0].get<std::string>().find("At b. "), 0u);
}

// A point of a window stands at the mean distance of its pairs, and says which distances it is of.
TEST(HeadDistance, PointsOfWindowsStandAtTheirMean) {
  RunTable table =
      parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\na,0,1,0,0.5,0.25\n", "qk.csv");
  parse_series_table(table, SeriesTable::curves,
                     "checkpoint,layer,q_head,curve,x,x_end,x_mean,value,value_se\n"
                     "a,0,1,dist_actual,3,4,3,1,0.5\na,0,1,dist_actual,4,8,5.25,2,0.5\n",
                     "curves.csv");
  FigureOptions options;
  options.asked.distance = {{0, 1}};
  for (const Json& spec : {head_distance_figure(table, run_numbers(table), options),
                           distance_figure(run_numbers(table), {})}) {
    const Json& rows = spec["datasets"]["curves 0"];
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["distance"], 3);
    EXPECT_EQ(rows[0]["to"], 3);
    EXPECT_EQ(rows[1]["distance"], 5.25);
    EXPECT_EQ(rows[1]["from"], 4);
    EXPECT_EQ(rows[1]["to"], 7);
    std::string said;
    for (const Json& line : spec["title"]["subtitle"]) said += line.get<std::string>() + " ";
    EXPECT_NE(said.find("octave of distances"), std::string::npos) << said;
  }
  const Json old = distance_figure(run_numbers(made_table()), {});
  std::string said;
  for (const Json& line : old["title"]["subtitle"]) said += line.get<std::string>() + " ";
  EXPECT_NE(said.find("single distances"), std::string::npos) << said;
}

TEST(HeadDistance, KnowsWhichHeadsHaveCurves) {
  const RunTable table = made_table();
  EXPECT_TRUE(has_distances(table, {3, 0}));
  EXPECT_TRUE(has_head(table, {3, 0}));
  EXPECT_FALSE(has_head(table, {3, 1}));
  EXPECT_FALSE(has_distances(table, {3, 1}));
  const RunTable bare =
      parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\na,0,1,0,0.5,0.25\n", "qk.csv");
  EXPECT_TRUE(has_head(bare, {0, 1}));
  EXPECT_FALSE(has_distances(bare, {0, 1}));
}

TEST(Distance, TheMeanOverHeadsHasAPanelForEachCheckpoint) {
  const RunNumbers run = run_numbers(made_table());
  ASSERT_TRUE(has_distances(run));
  const Json spec = distance_figure(run, {});
  ASSERT_EQ(spec["concat"].size(), 2u);
  EXPECT_EQ(spec["concat"][1]["title"]["text"], "b");
  EXPECT_EQ(spec["concat"][0]["layer"][1]["encoding"]["y"]["scale"],
            spec["concat"][1]["layer"][1]["encoding"]["y"]["scale"]);
}

}  // namespace
}  // namespace ropewalk
