#include "ropewalk/analysis/run/run_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

const ViewNumbers& of(const CheckpointNumbers& numbers, const std::string& view) {
  return numbers.views[view_index(view)];
}

// Two checkpoints of three heads in three layers, and a baseline.
const std::string kTable =
    "checkpoint,phase,layer,q_head,pc,explained_variance,r_q,r_k,flag\n"
    "init,,0,0,0,0.1,0.2,0.1,random_weights\n"
    "a,P,0,0,0,0.4,0.8,0.9,\na,P,0,0,1,0.2,0.1,0.1,\n"
    "a,P,10,0,0,0.2,0.9,-0.1,\na,P,10,0,1,0.1,0.1,0.1,\n"
    "a,P,20,0,0,0.3,0.1,0.2,\na,P,20,0,1,0.3,0.1,0.1,\n"
    "b,P,0,0,0,0.4,0.8,0.9,\nb,P,10,0,0,,,0.5,\nb,P,20,0,0,0.2,0.6,0.5,\n";

RunNumbers numbers(const Json& summary = {}) {
  return run_numbers(parse_qk_table(kTable, "qk.csv"), summary, "summary.json");
}

TEST(RunNumbers, AggregatesOverHeads) {
  const RunNumbers run = numbers();
  ASSERT_EQ(run.checkpoints.size(), 2u);
  const CheckpointNumbers& a = run.checkpoints[0];
  EXPECT_NEAR(of(a, "r_q").over_heads.mean, 0.6, 1e-12);
  EXPECT_NEAR(of(a, "r_q").over_heads.sd, std::sqrt((0.04 + 0.09 + 0.25) / 2), 1e-12);
  EXPECT_NEAR(of(a, "r_k").over_heads.mean, 1.0 / 3, 1e-12);
  EXPECT_NEAR(of(a, "abs_r_k").over_heads.mean, 0.4, 1e-12);
  EXPECT_NEAR(of(a, "explained_variance").over_heads.mean, 0.3, 1e-12);
  ASSERT_EQ(of(a, "explained_variance").components.size(), 2u);
  EXPECT_NEAR(of(a, "explained_variance").components[1], 0.2, 1e-12);
  EXPECT_TRUE(std::isnan(of(a, "r_q").over_heads.se));
  EXPECT_FALSE(run.standard_errors);
}

TEST(RunNumbers, ClassifiesHeads) {
  const CheckpointNumbers a = numbers().checkpoints[0];
  const auto heads = [&](HeadClass which) { return a.classes[static_cast<size_t>(which)].heads; };
  EXPECT_EQ(heads(HeadClass::position_dominated), 1);
  EXPECT_EQ(heads(HeadClass::q_positional), 1);
  EXPECT_EQ(heads(HeadClass::content_focused), 1);
  EXPECT_NEAR(a.classes[0].share, 1.0 / 3, 1e-12);
}

TEST(RunNumbers, BinsByDepth) {
  const CheckpointNumbers a = numbers().checkpoints[0];
  EXPECT_EQ(a.last_layer, 20);
  EXPECT_NEAR(of(a, "r_q").depth[0].value, 0.8, 1e-12);
  // layer 10 of 20 is the end of the fifth tenth
  EXPECT_NEAR(of(a, "r_k").depth[4].value, -0.1, 1e-12);
  EXPECT_NEAR(of(a, "r_q").depth[9].value, 0.1, 1e-12);
  EXPECT_EQ(a.depth_heads[1], 0);
  EXPECT_TRUE(std::isnan(of(a, "r_q").depth[1].value));
}

TEST(RunNumbers, LeavesOutAndCountsMissingValues) {
  const CheckpointNumbers b = numbers().checkpoints[1];
  EXPECT_EQ(b.undefined, 1);
  EXPECT_EQ(b.heads.size(), 2u);
  EXPECT_NEAR(of(b, "r_k").over_heads.mean, 0.7, 1e-12);
}

TEST(RunNumbers, KeepsBaselinesApart) {
  const RunNumbers run = numbers();
  ASSERT_EQ(run.baselines.size(), 1u);
  EXPECT_EQ(run.baselines[0].label, "init");
  EXPECT_TRUE(std::isnan(of(run.baselines[0], "r_q").over_heads.sd));  // one head
  const RunNumbers alone = run_numbers(parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k,flag\ninit,0,0,0,0,0,random_weights\n", "qk.csv"));
  EXPECT_EQ(alone.checkpoints.size(), 1u);
  EXPECT_TRUE(alone.baselines.empty());
}

TEST(RunNumbers, TakesStandardErrorsAndLastLayerFromTheSummary) {
  const Json summary = parse_json(
      R"({"checkpoints": [{"label": "a", "last_layer": 40}],
          "mean_r_q": {"a": {"value": 0.6, "se": 0.01}},
          "taxonomy": {"a": {"mixed": {"value": 0, "se": 0.02}}},
          "depth_r_q": {"a": [{"value": 0.8, "se": 0.03}, null, {"value": 0.9, "se": null}, null,
                              {"value": 0.1, "se": 0.04}, null, null, null, null, null]}})",
      "summary.json");
  const RunNumbers run = numbers(summary);
  EXPECT_TRUE(run.standard_errors);
  const CheckpointNumbers& a = run.checkpoints[0];
  EXPECT_EQ(a.last_layer, 40);
  EXPECT_DOUBLE_EQ(of(a, "r_q").over_heads.se, 0.01);
  EXPECT_TRUE(std::isnan(of(a, "r_k").over_heads.se));
  EXPECT_DOUBLE_EQ(a.classes[static_cast<size_t>(HeadClass::mixed)].se, 0.02);
  EXPECT_DOUBLE_EQ(of(a, "r_q").depth[0].se, 0.03);
  EXPECT_TRUE(std::isnan(of(a, "r_q").depth[2].se));
  EXPECT_DOUBLE_EQ(of(a, "r_q").depth[4].se, 0.04);
}

TEST(RunNumbers, RefusesTheSummaryOfAnotherTable) {
  const Json summary =
      parse_json(R"({"mean_r_q": {"a": {"value": 0.5, "se": 0.01}}})", "summary.json");
  try {
    numbers(summary);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "summary.json: mean_r_q of 'a' is 0.500000, but the table gives 0.600000; the "
                 "summary belongs to another table");
  }
  EXPECT_THROW(numbers(Json::array()), InputError);
  const Json other = parse_json(R"({"checkpoints": [{"label": "a"}, {"label": "z"}]})", "s");
  EXPECT_THROW(numbers(other), InputError);
}

TEST(RunNumbers, SaysWhyThereIsNothingToShow) {
  const auto message = [](const std::string& rows) -> std::string {
    try {
      run_numbers(parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\n" + rows, "qk.csv"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("a,0,0,1,0.5,0.5\n"),
            "qk.csv: has no row of PC0 (pc 0), from which all numbers are taken");
  EXPECT_EQ(message("a,0,0,0,,0.5\na,0,1,0,0.5,\n"),
            "qk.csv: none of its 2 rows of PC0 has both r_q and r_k");
  EXPECT_EQ(message("a,0,0,0,,\nb,0,0,0,0.5,0.5\n"), "");
}

TEST(RunNumbers, NamesTheModelThatAllShare) {
  const std::string header = "model,checkpoint,layer,q_head,pc,r_q,r_k\n";
  const auto model = [&](const std::string& rows) {
    return run_numbers(parse_qk_table(header + rows, "qk.csv")).model;
  };
  EXPECT_EQ(model("m,a,0,0,0,0,0\nm,b,0,0,0,0,0\n"), "m");
  EXPECT_EQ(model("m,a,0,0,0,0,0\nn,b,0,0,0,0,0\n"), "");
}

}  // namespace
}  // namespace ropewalk
