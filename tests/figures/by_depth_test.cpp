#include "ropewalk/figures/by_depth.h"

#include <gtest/gtest.h>

#include "tests/figures/small_runs.h"

namespace ropewalk {
namespace {

TEST(ByDepth, FewLayersHaveAColumnEach) {
  const RunNumbers nine =
      small_run_of_layers(std::vector<std::pair<double, double>>(9, {0.5, 0.5}));
  const Json spec = by_depth(nine, {}, view_index("r_q"));
  const Json& cells = spec["datasets"]["cells"];
  ASSERT_EQ(cells.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(cells[i]["layer"], i);
    EXPECT_EQ(cells[i]["x"], i);
    EXPECT_EQ(cells[i]["heads"], 1);
    EXPECT_EQ(cells[i]["text"], "0.50");
    EXPECT_EQ(spec["params"].back()["value"][i], (Json{fmt::format("L {}", i), "n = 1"}));
  }
  EXPECT_NE(spec["title"]["subtitle"][0].get<std::string>().find("over the heads of each layer"),
            std::string::npos);
  const RunNumbers ten =
      small_run_of_layers(std::vector<std::pair<double, double>>(10, {0.5, 0.5}));
  const Json wide = by_depth(ten, {}, view_index("r_q"));
  EXPECT_EQ(wide["datasets"]["cells"].size(), 10u);
  EXPECT_FALSE(wide["datasets"]["cells"][3].contains("layer"));
}

TEST(ByDepth, HeatmapsRunFromZeroToOne) {
  const RunNumbers positive = small_run_of_layers({{0.9, 0.8}, {0.1, 0.3}});
  for (const Json& spec :
       {by_depth(positive, {}, view_index("r_q")), by_depth(positive, {}, view_index("r_k"))}) {
    const Json scale = layer_of(spec, "cells")["encoding"]["color"]["scale"];
    EXPECT_EQ(scale["domain"].front(), 0);
    EXPECT_EQ(scale["domain"].back(), 1);
    EXPECT_EQ(scale["clamp"], true);
    EXPECT_EQ(scale["domain"].size(), 9u);
  }
  const RunNumbers run =
      run_numbers(parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\n"
                                 "c,0,0,0,0.9,0.8\nc,20,0,0,0.2,-0.1\n",
                                 "qk.csv"));
  const Json cells = by_depth(run, {}, view_index("r_k"))["datasets"]["cells"];
  EXPECT_EQ(cells[0]["text"], "0.80");
  EXPECT_EQ(cells[9]["text"], "−0.10");
  EXPECT_EQ(cells[5]["text"], "–");
  EXPECT_TRUE(cells[5]["value"].is_null());
}

TEST(ByDepth, NegativeCellsAreNotTakenForZero) {
  const RunNumbers run =
      small_run_of_layers({{0.9, 0.0}, {0.9, -0.02}, {0.9, -0.4}, {0.9, -0.004}});
  const Json spec = by_depth(run, {}, view_index("r_k"));
  const Json color = layer_of(spec, "cells")["encoding"]["color"];
  // From the lowest cell, outwards to a quarter, through 0 to 1.
  EXPECT_EQ(color["scale"]["domain"].front(), -0.5);
  EXPECT_EQ(color["scale"]["domain"].back(), 1);
  EXPECT_EQ(color["scale"]["domain"].size(), color["scale"]["range"].size());
  EXPECT_EQ(color["legend"]["values"], Json::parse("[-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0]"));
  EXPECT_EQ(color["legend"]["title"], "mean r_k on PC0 (teal: below 0)");
}

}  // namespace
}  // namespace ropewalk
