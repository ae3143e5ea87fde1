#include "ropewalk/analysis/run/carried_signs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

// A checkpoint with one head that has this PC0 and this r_k on it; r_q is too small to decide the
// sign.
CheckpointTable step(const std::string& label, const std::vector<double>& axis, double r_k,
                     double drift = 1) {
  CheckpointTable made;
  made.label = label;
  const Estimate k{r_k, 0.01, {r_k, r_k}}, q{0.01, 0.01, {0.01, 0.01}};
  add_made_head(made, 0, 0, {{"r_q", q}, {"r_k", k}}, {10, 10});
  made.axes.push_back({axis, drift});
  return made;
}

TEST(CarriedSigns, AnAxisThatStaysKeepsItsSign) {
  // The rule flips the axis from step to step, although the axis does not move.
  std::vector<CheckpointTable> run{step("a", {1, 0}, 0.5), step("b", {-1, 0}, 0.4),
                                   step("c", {1, 0}, 0.3)};
  carry_signs(run);
  EXPECT_EQ(run[0].column("r_k_run").value[0], 0.5);
  EXPECT_EQ(run[1].column("r_k_run").value[0], -0.4);
  EXPECT_EQ(run[1].column("r_k_run").replicates[1], -0.4);
  EXPECT_EQ(run[1].column("r_k_run").se[0], 0.01);
  EXPECT_EQ(run[2].column("r_k_run").value[0], 0.3);
  EXPECT_TRUE(std::isnan(run[0].column("pc0_overlap").value[0]));
  EXPECT_EQ(run[1].column("pc0_overlap").value[0], 1);
  EXPECT_EQ(run[1].head_flag[0], "") << "0.4 ± 0.01 is far from turning";
}

TEST(CarriedSigns, AnAxisThatChangedPointsAlongTheDrift) {
  std::vector<CheckpointTable> run{step("a", {1, 0}, 0.5), step("b", {0, 1}, 0.4, -0.2)};
  carry_signs(run);
  EXPECT_EQ(run[1].column("r_k_run").value[0], -0.4);
  EXPECT_EQ(run[1].column("pc0_overlap").value[0], 0);
  EXPECT_EQ(run[1].head_flag[0], kAxisChanged);
}

TEST(CarriedSigns, EachContextIsFollowedOnItsOwn) {
  std::vector<CheckpointTable> run{step("a@32", {1, 0}, 0.5), step("b@32", {-1, 0}, 0.4),
                                   step("a@64", {-1, 0}, 0.3), step("b@64", {0, 1}, 0.2)};
  carry_signs(run);
  EXPECT_EQ(run[1].column("r_k_run").value[0], -0.4);
  EXPECT_EQ(run[2].column("r_k_run").value[0], -0.3) << "as a@32 has it, not b@32, which is before";
  EXPECT_EQ(run[2].column("pc0_overlap").value[0], 1);
  EXPECT_EQ(run[3].column("pc0_overlap").value[0], 0) << "with a@64";
  EXPECT_EQ(run[3].head_flag[0], kAxisChanged);
}

TEST(CarriedSigns, ABaselineIsNoStep) {
  std::vector<CheckpointTable> run{step("random", {0, 1}, 0.5), step("a", {1, 0}, 0.5),
                                   step("b", {-1, 0}, 0.4)};
  run[0].random = true;
  carry_signs(run);
  EXPECT_TRUE(std::isnan(run[1].column("pc0_overlap").value[0]));
  EXPECT_EQ(run[0].column("r_k_run").value[0], 0.5);
  EXPECT_EQ(run[2].column("r_k_run").value[0], -0.4);
}

TEST(SignUncertain, WhereTheDecidingNumberIsNearTurning) {
  EXPECT_FALSE(sign_uncertain(0.5, 0.01, -0.5, 0.01));
  EXPECT_TRUE(sign_uncertain(0.06, 0.01, -0.5, 0.01)) << "below 0.05 r_k decides, and turns it";
  EXPECT_FALSE(sign_uncertain(0.06, 0.01, 0.5, 0.01)) << "r_k would say the same";
  EXPECT_TRUE(sign_uncertain(0.06, 0.06, 0.5, 0.01)) << "r_q itself may turn";
  EXPECT_TRUE(sign_uncertain(0.01, 0.001, 0.015, 0.01)) << "r_k decides";
  EXPECT_FALSE(sign_uncertain(0.01, 0.001, 0.5, 0.01));
  EXPECT_FALSE(sign_uncertain(0.06, std::nan(""), 0.01, std::nan("")));
}

TEST(HeadsTable, IsReadBackIntoItsTable) {
  std::vector<CheckpointTable> run{step("a", {1, 0}, 0.5), step("b", {0, 1}, 0.4, -0.2)};
  run[1].order = 1;
  carry_signs(run);
  const std::string text = format_heads_table(run);
  EXPECT_TRUE(
      text.starts_with("model,checkpoint,phase,order,step,tokens,layer,q_head,kv_head,rope,r2cv_q,"
                       "r2cv_q_se,"));
  RunTable table = parse_qk_table(format_qk_table(run), "qk.csv");
  EXPECT_TRUE(std::isnan(table.checkpoints[1].column("r_k_run").value[0]));
  parse_heads_table(table, text, "heads.csv");
  EXPECT_EQ(table.checkpoints[1].column("r_k_run").value[0], -0.4);
  EXPECT_EQ(table.checkpoints[1].column("r_k_run").se[0], 0.01);
  EXPECT_EQ(table.checkpoints[1].head_flag[0], kAxisChanged);
  EXPECT_EQ(format_heads_table(table.checkpoints), text);
  // A table of other heads changes nothing.
  RunTable other = parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.1,0.5\n", "qk");
  try {
    parse_heads_table(other, text, "heads.csv");
    FAIL() << "b is not in that table";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3: checkpoint 'b'"), std::string::npos);
  }
  EXPECT_TRUE(std::isnan(other.checkpoints[0].column("r_k_run").value[0]));
}

}  // namespace
}  // namespace ropewalk
