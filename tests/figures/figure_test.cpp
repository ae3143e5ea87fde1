#include "ropewalk/figures/figure.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/qk_reader.h"
#include "ropewalk/base/error.h"
#include "ropewalk/figures/by_depth.h"
#include "ropewalk/figures/over_training.h"
#include "ropewalk/figures/theme.h"
#include "tests/analysis/made_head.h"

namespace ropewalk {
namespace {

// `count` checkpoints of two heads.
RunNumbers run_of(int count, bool variance = true) {
  std::string text = "checkpoint,phase,layer,q_head,rope,pc,explained_variance,r_q,r_k\n";
  for (int i = 0; i < count; ++i) {
    const std::string start = "c" + std::to_string(i) + (i < 2 ? ",P," : ",Q,");
    text += start + "0,0,1,0," + (variance ? "0.5" : "") + ",0.9,0.8\n";
    text += start + "5,1,0,0," + (variance ? "0.3" : "") + ",0.2,-0.1\n";
  }
  return run_numbers(parse_qk_table(text, "qk.csv"));
}

const Json& layer(const Json& spec, const std::string& name) {
  for (const Json& one : spec["layer"]) {
    if (one.value("name", "") == name) return one;
  }
  throw std::runtime_error("no layer " + name);
}

TEST(Figures, AreSixWithSchemaAndTitle) {
  const auto figures = make_figures(run_of(3), {});
  ASSERT_EQ(figures.size(), 6u);
  for (const Figure& figure : figures) {
    EXPECT_EQ(figure.spec["$schema"], theme::kSchema) << figure.name;
    EXPECT_FALSE(figure.spec["title"]["text"].get<std::string>().empty()) << figure.name;
  }
  EXPECT_EQ(make_figures(run_of(3, false), {}).size(), 5u);
  EXPECT_EQ(missing_figures(run_of(3, false)), std::vector<std::string>{"explained_variance"});
}

TEST(Figures, PositionSignalHasTheSpecifiedMarks) {
  const Json spec = over_training(run_of(3), {}, "position_signal");
  const Json markers = layer(spec, "markers")["encoding"];
  EXPECT_EQ(markers["shape"]["scale"]["range"], Json::parse(R"(["circle", "square", "stroke"])"));
  EXPECT_EQ(markers["color"]["scale"]["range"][0], theme::kQueries);
  EXPECT_EQ(markers["color"]["scale"]["range"][1], theme::kKeys);
  EXPECT_EQ(layer(spec, "bands")["mark"]["type"], "area");
  EXPECT_TRUE(layer(spec, "separators")["mark"].contains("strokeDash"));
  EXPECT_EQ(spec["datasets"]["separators"].size(), 1u);
  EXPECT_EQ(spec["datasets"]["phases"].size(), 2u);
  EXPECT_EQ(spec["datasets"]["means"].size(), 9u);
}

TEST(Figures, OneCheckpointHasABandToo) {
  EXPECT_EQ(layer(over_training(run_of(1), {}, "position_signal"), "bands")["mark"]["type"], "bar");
}

TEST(Figures, TaxonomyStacksToOne) {
  const Json spec = taxonomy(run_of(2), {});
  const Json& rows = spec["datasets"]["segments"];
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows[0]["class"], "position-dominated");
  EXPECT_DOUBLE_EQ(rows[4]["to"].get<double>(), 1);
  EXPECT_EQ(layer(spec, "segments")["encoding"]["y"]["scale"]["domain"], Json::parse("[0, 1]"));
}

TEST(Figures, HeatmapsRunFromZeroToOne) {
  for (const Json& spec : {by_depth(run_of(2), {}, reading_place("r_q")),
                           by_depth(run_of(2), {}, reading_place("r_k"))}) {
    const Json scale = layer(spec, "cells")["encoding"]["color"]["scale"];
    EXPECT_EQ(scale["domain"].front(), 0);
    EXPECT_EQ(scale["domain"].back(), 1);
    EXPECT_EQ(scale["clamp"], true);
    EXPECT_EQ(spec["datasets"]["cells"].size(), 20u);
  }
  const Json cells = by_depth(run_of(1), {}, reading_place("r_k"))["datasets"]["cells"];
  EXPECT_EQ(cells[0]["text"], "0.80");
  EXPECT_EQ(cells[9]["text"], "−0.10");
  EXPECT_EQ(cells[5]["text"], "–");
  EXPECT_TRUE(cells[5]["value"].is_null());
}

TEST(Figures, PortraitsShareTheirLimits) {
  const Json spec = phase_portraits(run_of(10), {});
  ASSERT_EQ(spec["concat"].size(), 6u);
  EXPECT_EQ(spec["columns"], 3);
  for (const Json& panel : spec["concat"]) {
    const Json& encoding = panel["layer"][2]["encoding"];
    EXPECT_EQ(encoding["x"]["scale"]["domain"], Json::parse("[-0.05, 1.05]"));
    EXPECT_EQ(encoding["y"]["scale"]["domain"], Json::parse("[-1.05, 1.05]"));
    EXPECT_EQ(encoding["shape"]["scale"]["domain"], Json::parse(R"(["RoPE", "NoPE"])"));
  }
}

std::string shown(const RunNumbers& run, const std::vector<std::string>& asked = {}) {
  std::string labels;
  for (const auto* numbers : portrait_checkpoints(run, {"", asked})) labels += numbers->label + " ";
  return labels;
}

TEST(Figures, PortraitsSpreadOverTheRunOrAreChosen) {
  EXPECT_EQ(shown(run_of(10)), "c0 c2 c4 c5 c7 c9 ");
  EXPECT_EQ(shown(run_of(3)), "c0 c1 c2 ");
  EXPECT_EQ(shown(run_of(1)), "c0 ");
  EXPECT_EQ(shown(run_of(10), {"c3", "c1"}), "c3 c1 ");
  try {
    shown(run_of(2), {"c7"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "portrait 'c7': qk.csv has no such checkpoint; it has c0, c1");
  }
}

}  // namespace
}  // namespace ropewalk
