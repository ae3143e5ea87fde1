#include "ropewalk/figures/series_figures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/loss_reader.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

// Checkpoints with one head: "a" and "b" of phase P at a context of 64, "c" of phase Q at 512.
RunTable three_checkpoints() {
  return parse_qk_table(
      "checkpoint,phase,layer,q_head,rope,pc,r_q,r_k\na,P,0,0,1,0,0.5,0.25\nb,P,0,0,1,0,0.5,0.25\n"
      "c,Q,0,0,1,0,0.5,0.25\n",
      "qk.csv");
}

Json contexts() {
  return parse_json(
      R"({"checkpoints": [{"label": "a", "context": 64}, {"label": "b", "context": 64},
                          {"label": "c", "context": 512}]})",
      "summary.json");
}

TEST(Bands, NamePhasesAndContextsRightOfTheMaps) {
  RunTable heads = three_checkpoints();
  std::string text = "checkpoint,layer,q_head,pair,theta,energy_q,energy_k\n";
  for (const char* label : {"a", "b", "c"}) {
    text += fmt::format("{0},0,0,0,1,2,3\n{0},0,0,1,0.01,1,1\n", label);
  }
  parse_series_table(heads, SeriesTable::bands, text, "bands.csv");
  const Json spec = bands_figure(run_numbers(heads, contexts(), "summary.json"), {});
  std::string names;
  for (const Json& row : spec["datasets"]["phases"]) names += row["text"].get<std::string>() + "; ";
  EXPECT_EQ(names, "P @64; Q @512; ");
  for (const Json& map : spec["vconcat"]) {
    const Json* phases = nullptr;
    double legend = 0;
    for (const Json& layer : map["layer"]) {
      if (layer["name"].get<std::string>().starts_with("phases")) phases = &layer;
      if (layer["encoding"].contains("color")) {
        legend = layer["encoding"]["color"]["legend"]["offset"];
      }
    }
    ASSERT_NE(phases, nullptr) << map["title"];
    const double from_map =
        (*phases)["encoding"]["x"]["value"].get<double>() - map["width"].get<double>();
    EXPECT_GT(from_map, 0);
    EXPECT_GT(legend, from_map + 40) << "the legend leaves them room";
  }
}

std::vector<double> loss_ticks(double first, double last) {
  RunTable heads = three_checkpoints();
  parse_loss_table(heads,
                   fmt::format("checkpoint,position,position_end,loss,loss_se,documents,tokens\n"
                               "a,,,{0},0.01,8,80\nb,,,{1},0.01,8,80\nc,,,{1},0.01,8,80\n",
                               first, last),
                   "loss.csv");
  const Json spec = loss_figure(run_numbers(heads, {}, ""), {});
  for (const Json& layer : spec["vconcat"][0]["layer"]) {
    const Json& y = layer["encoding"].value("y", Json::object());
    if (y.contains("axis") && y["axis"].is_object() && y["axis"].contains("values")) {
      return y["axis"]["values"].get<std::vector<double>>();
    }
  }
  return {};
}

// A former version had no ticks on half of the demo's axis, where nearly all checkpoints are.
TEST(Loss, HasTicksAllAlongItsAxis) {
  EXPECT_EQ(loss_ticks(3.37, 1.16), (std::vector<double>{1.2, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(loss_ticks(10.8, 1.1), (std::vector<double>{2, 5, 10}));
  EXPECT_EQ(loss_ticks(6.9, 2.8), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_GE(loss_ticks(1.21, 1.19).size(), 3u);
}

}  // namespace
}  // namespace ropewalk
