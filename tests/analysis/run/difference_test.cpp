#include "ropewalk/analysis/run/difference.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/analysis/run/summary.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

constexpr size_t kBlocks = 10;

// Adds a head whose r_q is lower by `noise[b]` without block b.
void add_head(CheckpointTable& checkpoint, int64_t index, double r_q,
              const std::vector<double>& noise) {
  const std::vector<double> sizes(kBlocks, 100);
  Estimate number{r_q, 0, {}};
  for (size_t b = 0; b < kBlocks; ++b) number.replicates.push_back(r_q - noise[b]);
  number.se = jackknife_se(r_q, number.replicates, sizes);
  add_made_head(checkpoint, index, 0,
                {{"r_q", number}, {"r_k", number}, {"explained_variance", number}}, sizes);
}

CheckpointTable make_checkpoint(const std::string& label, double shift, bool same_documents) {
  CheckpointTable checkpoint;
  checkpoint.label = label;
  checkpoint.blocks = 16;
  checkpoint.last_layer = 19;
  for (int64_t i = 0; i < 20; ++i) {
    std::vector<double> noise;
    for (size_t b = 0; b < kBlocks; ++b) noise.push_back(b % 2 == 0 ? 0.01 : -0.01);
    add_head(checkpoint, i, 0.5 + (i == 3 ? shift : 0), noise);
  }
  for (int64_t i = 0; i < 10; ++i)
    checkpoint.documents.emplace_back(same_documents ? i : i + 100, 7);
  return checkpoint;
}

Json change(const CheckpointTable& from, const CheckpointTable& to) {
  return compare_checkpoints(CheckpointComparison({&from}, to), GroupNumbers(whole_group(from)),
                             GroupNumbers(whole_group(to)));
}

TEST(Difference, PairsTheSameDocuments) {
  const Json paired = change(make_checkpoint("a", 0, true), make_checkpoint("b", 0.1, true));
  EXPECT_EQ(paired["paired"], 1);
  // Both checkpoints have the same errors in every block, so their difference has none.
  EXPECT_NEAR(paired["mean_r_q"]["se"].get<double>(), 0, 1e-12);
  EXPECT_NEAR(paired["mean_r_q"]["value"].get<double>(), 0.1 / 20, 1e-12);
  EXPECT_TRUE(paired["mean_r_q"]["real"].get<bool>());
  ASSERT_EQ(paired["heads_r_q"].size(), 1u);
  EXPECT_EQ(paired["heads_r_q"][0]["layer"], 3);

  const Json apart = change(make_checkpoint("a", 0, false), make_checkpoint("b", 0.1, true));
  EXPECT_EQ(apart["paired"], 0);
  EXPECT_NEAR(apart["mean_r_q"]["se"].get<double>(), std::sqrt(2.0) * 0.03, 1e-9);
  EXPECT_FALSE(apart["mean_r_q"]["real"].get<bool>());
  EXPECT_TRUE(apart["heads_r_q"].empty());
}

// Orthogonal axes have no common r; a flipped axis is flipped back.
TEST(Difference, AMeanOnPc0ChangesInTwoWays) {
  CheckpointTable before = make_checkpoint("a", 0, true);
  CheckpointTable after = make_checkpoint("b", 0.1, true);
  before.axes.assign(20, {{1, 0}, 1, 1});
  after.axes.assign(20, {{1, 0}, 1, 1});
  after.axes[5].vector = {-1, 0};
  after.axes[6].vector = {0, 1};
  for (const char* key : {"r_q_run", "r_k_run"}) {
    const size_t index = statistic_index(key);
    for (CheckpointTable* one : {&before, &after}) {
      one->columns[index] = one->column(key == std::string("r_q_run") ? "r_q" : "r_k");
    }
    HeadColumn& column = after.columns[index];
    column.value[5] *= -1;
    for (size_t b = 0; b < kBlocks; ++b) column.replicates[5 * kBlocks + b] *= -1;
    column.value[6] = -0.9;
  }
  const Json found = change(before, after);
  const Json stayed = found["mean_r_q"]["stayed"];
  EXPECT_EQ(stayed["heads"], 19);
  EXPECT_NEAR(stayed["value"].get<double>(), 0.1 / 19, 1e-12);
  EXPECT_NEAR(stayed["se"].get<double>(), 0, 1e-12);
  EXPECT_TRUE(stayed["real"].get<bool>());
  // Over all heads, from the numbers of each checkpoint.
  const Json summary = summarize({before, after}).summary;
  for (const char* key : {"mean_r_q", "mean_r_k", "sd_r_q", "mean_r_q_run"}) {
    const double a = summary[key]["a"]["value"], b = summary[key]["b"]["value"];
    EXPECT_EQ(found[key]["value"].get<double>(), b - a) << key;
    EXPECT_EQ(found[key]["heads"], 20) << key;
  }
  EXPECT_TRUE(found["mean_r_q"]["real"].get<bool>());
  EXPECT_FALSE(found["mean_abs_r_k"].contains("stayed"));

  // The mean over all heads falls because one head's axis changed, although the others rise.
  after.columns[statistic_index("r_q")].value[6] = -0.9;
  const Json apart = change(before, after)["mean_r_q"];
  EXPECT_LT(apart["value"].get<double>(), 0);
  EXPECT_GT(apart["stayed"]["value"].get<double>(), 0);
  EXPECT_FALSE(apart["real"].get<bool>());
  EXPECT_FALSE(apart["stayed"]["real"].get<bool>());

  after.axes.assign(20, {{0, 1}, 1, 1});
  const Json none = change(before, after)["mean_r_q"];
  EXPECT_EQ(none["stayed"]["heads"], 0);
  EXPECT_TRUE(none["stayed"]["value"].is_null());
  EXPECT_FALSE(none["real"].get<bool>());
}

TEST(Difference, AMeanOfAStepFunctionHasNoError) {
  CheckpointTable before = make_checkpoint("a", 0, true), after = make_checkpoint("b", 0, true);
  for (CheckpointTable* one : {&before, &after}) {
    HeadColumn& column = one->columns[statistic_index("dist_argmax")];
    column.value.assign(20, one == &before ? 1 : 4);
    column.replicates.assign(20 * kBlocks, column.value[0]);
  }
  const Json summary = summarize({before, after}).summary;
  EXPECT_EQ(summary["mean_dist_argmax"]["b"]["value"], 4);
  EXPECT_TRUE(summary["mean_dist_argmax"]["b"]["se"].is_null()) << "not 0";
  const Json mean = summary["differences"][0]["mean_dist_argmax"];
  EXPECT_EQ(mean["value"], 3);
  EXPECT_TRUE(mean["se"].is_null() && mean["real"].is_null());
  EXPECT_EQ(mean["flag"], "step_function");
}

TEST(Difference, AMeanWhoseSignIsARulesAloneHasNoVerdict) {
  const Json found = change(make_checkpoint("a", 0, true), make_checkpoint("b", 0.1, true));
  EXPECT_EQ(found["mean_within_r_k"]["flag"], "sign_rule");
  EXPECT_TRUE(found["mean_within_r_k"]["real"].is_null());
  EXPECT_FALSE(found["mean_abs_within_r_k"].contains("flag"));
}

TEST(Difference, NumbersPerTokenOfTwoContextsGetNoVerdict) {
  CheckpointTable before = make_checkpoint("a", 0, true), after = make_checkpoint("b", 0.1, true);
  before.origin.context = 512;
  const auto flags = [&](int64_t context) {
    after.origin.context = context;
    return change(before, after);
  };
  EXPECT_EQ(flags(2048)["mean_bias_strength"]["flag"], "other_context");
  EXPECT_TRUE(flags(2048)["mean_abs_alpha_k"]["real"].is_null());
  EXPECT_FALSE(flags(2048)["mean_bias_context"].contains("flag"));
  EXPECT_FALSE(flags(512)["mean_bias_strength"].contains("flag"));
  EXPECT_FALSE(flags(0)["mean_bias_strength"].contains("flag")) << "not known";
}

TEST(Summary, SaysWhatCountsAsChanged) {
  const Json changed = summarize({make_checkpoint("a", 0, true)}, {0.125, {}}).summary["changed"];
  EXPECT_EQ(changed, Json({{"min_change", 0.125}, {"max_q", 0.05}}));
}

TEST(Summary, TellsTheWholeRunWhereNoStepDoes) {
  const CheckpointTable a = make_checkpoint("a", 0, true), b = make_checkpoint("b", 0.1, true),
                        c = make_checkpoint("c", 0.3, true);
  const Json summary = summarize({a, b, c}).summary;
  EXPECT_EQ(summary["differences"].size(), 2u);
  EXPECT_EQ(summary["whole_run"], change(a, c));
  EXPECT_NEAR(summary["whole_run"]["mean_r_q"]["value"].get<double>(), 0.3 / 20, 1e-12);
  EXPECT_FALSE(summarize({a, b}).summary.contains("whole_run")) << "that is the step";
  CheckpointTable random = a;
  random.random = true;
  EXPECT_FALSE(summarize({random, b, c}).summary.contains("whole_run"));
}

TEST(Summary, LeavesOutUndefinedHeads) {
  CheckpointTable checkpoint = make_checkpoint("a", 0, true);
  std::vector<double>& r_q = checkpoint.columns[statistic_index("r_q")].value;
  r_q[0] = std::nan("");
  r_q[1] = 0.9;
  const Json summary = summarize({checkpoint}).summary;
  EXPECT_EQ(summary["heads"]["a"]["undefined"], 1);
  EXPECT_EQ(summary["heads"]["a"]["measured"], 19);
  EXPECT_NEAR(summary["mean_r_q"]["a"]["value"].get<double>(), (18 * 0.5 + 0.9) / 19, 1e-12);
  EXPECT_TRUE(summary["nope"]["mean_r_q"]["a"]["value"].is_null());
}

}  // namespace
}  // namespace ropewalk
