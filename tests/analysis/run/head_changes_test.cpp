#include "ropewalk/analysis/run/head_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/math/discovery_rates.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/run/carried_signs.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/summary.h"
#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/made_head.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 40;

IndexedView view(const std::string& key) { return all_views()[view_index(key)]; }

// Vectors of documents: noise with these scales, and position along the first two axes.
std::vector<at::Tensor> documents(int count, const std::vector<double>& scales,
                                  std::pair<double, double> drift) {
  std::vector<at::Tensor> list;
  const at::Tensor t = at::linspace(-1, 1, kTokens, at::kDouble);
  for (int i = 0; i < count; ++i) {
    at::Tensor x = at::randn({kTokens, 4}, at::kDouble) * at::tensor(scales, at::kDouble);
    x.select(1, 0).add_(t * drift.first);
    x.select(1, 1).add_(t * drift.second);
    list.push_back(x);
  }
  return list;
}

struct Streams {
  std::vector<double> scales;
  std::pair<double, double> q, k;  // drifts
};

CheckpointTable simulated(const std::string& label, int count, int heads, const Streams& of) {
  CheckpointTable made;
  made.label = label;
  made.blocks = count;
  for (int i = 0; i < heads; ++i) {
    add_head(made, {0, i, i, true},
             make_replicates(leave_one_out(stream_input(documents(count, of.scales, of.q))),
                             leave_one_out(stream_input(documents(count, of.scales, of.k))), 2),
             std::vector<double>(static_cast<size_t>(count), 2.0 * kTokens));
  }
  return made;
}

int count_changed(const std::vector<HeadChange>& heads) {
  int changed = 0;
  for (const HeadChange& head : heads) changed += head.changed;
  return changed;
}

TEST(HeadChanges, SignsOfAxesThatStayDoNotTurn) {
  // r_q is near the threshold at which the rule switches to r_k, which has the other sign.
  const Streams still{{3, 1, 1, 1}, {-0.26, 0}, {3, 0}};
  for (const int count : {6, 16, 40}) {
    at::manual_seed(count);
    std::vector<CheckpointTable> run;
    for (const char* label : {"a", "b", "c"}) run.push_back(simulated(label, count, 30, still));
    carry_signs(run);
    double largest = 0;
    for (size_t i = 0; i + 1 < run.size(); ++i) {
      const std::vector<double>& before = run[i].column("r_k").value;
      const std::vector<double>& after = run[i + 1].column("r_k").value;
      for (const size_t row : run[i].head_rows()) {
        largest = std::max(largest, std::abs(after[row] - before[row]));
      }
      const CheckpointComparison step({&run[i]}, run[i + 1]);
      const std::vector<HeadChange> heads = step.changes(view("r_k_run"));
      EXPECT_EQ(heads.size(), 30u);
      EXPECT_EQ(count_changed(heads), 0) << count << " documents";
      for (const HeadChange& head : heads) {
        EXPECT_FALSE(head.axis_changed);
        EXPECT_LT(std::abs(head.change.value), 0.5);
      }
    }
    EXPECT_GT(largest, 0.8) << "the rule alone turns some of " << count << " documents' axes";
  }
}

TEST(HeadChanges, ComponentsThatTradePlacesAreAnotherAxis) {
  at::manual_seed(3);
  std::vector<CheckpointTable> run{simulated("a", 16, 20, {{2.0, 1.6, 0.3, 0.3}, {2, 0}, {3, 0}}),
                                   simulated("b", 16, 20, {{1.6, 2.6, 0.3, 0.3}, {2, 0}, {3, 0}})};
  carry_signs(run);
  const CheckpointComparison step({&run[0]}, run[1]);
  int axes = 0;
  for (const HeadChange& head : step.changes(view("r_k_run"))) {
    axes += head.axis_changed;
    if (!head.axis_changed) continue;
    EXPECT_TRUE(std::isnan(head.p) && std::isnan(head.q));
    EXPECT_FALSE(head.changed);
    EXPECT_NE(run[1].head_flag[head.row].find(kAxisChanged), std::string::npos);
  }
  EXPECT_GE(axes, 18);
  for (const HeadChange& head : step.changes(view("r2_pc2_k"))) {
    EXPECT_LT(std::abs(head.change.value), 0.2) << "the plane of both stays";
  }
}

// Heads whose r changes by `shift`, with errors over documents of about `noise`.
CheckpointTable noisy(const std::string& label, int heads, double shift, double noise,
                      unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  CheckpointTable made;
  made.label = label;
  made.blocks = 16;
  const std::vector<double> sizes(16, 100);
  for (int i = 0; i < heads; ++i) {
    std::vector<double> blocks;
    double mean = 0;
    for (int b = 0; b < 16; ++b) {
      blocks.push_back(0.4 + shift + 4 * noise * normal(random));
      mean += blocks.back() / 16;
    }
    Estimate number{mean, 0, {}};
    for (const double block : blocks) number.replicates.push_back((16 * mean - block) / 15);
    number.se = jackknife_se(mean, number.replicates, sizes);
    add_made_head(made, 0, i, {{"r_q", number}, {"r_k", number}}, sizes);
  }
  return made;
}

TEST(HeadChanges, OfHeadsThatDidNotChangeFewAreListed) {
  for (const double noise : {0.001, 0.02, 0.2}) {
    const CheckpointTable before = noisy("a", 1000, 0, noise, 1);
    const CheckpointTable after = noisy("b", 1000, 0.01, noise, 2);
    const CheckpointComparison step({&before}, after);
    EXPECT_LE(count_changed(step.changes(view("r_k_run"))), 50) << noise;
  }
  // Heads that changed are listed, and the caller sets the smallest size that counts.
  const CheckpointTable before = noisy("a", 100, 0, 0.001, 1);
  const CheckpointTable after = noisy("b", 100, 0.05, 0.001, 2);
  const CheckpointComparison step({&before}, after);
  EXPECT_EQ(count_changed(step.changes(view("r_k_run"))), 100);
  // The spread over heads is about 0.001, so the scale's floor decides; then the share that the
  // caller sets.
  const CheckpointTable less = noisy("c", 100, 0.03, 0.001, 3);
  EXPECT_EQ(count_changed(CheckpointComparison({&before}, less, 0).changes(view("r_k_run"))), 0);
  const std::vector<HeadChange> heads =
      CheckpointComparison({&before}, after, 0).changes(view("r_k_run"));
  std::vector<double> earlier, later;
  for (const HeadChange& head : heads) {
    earlier.push_back(std::atanh(head.before));
    later.push_back(std::atanh(head.after));
  }
  const double spread = (robust_spread(earlier) + robust_spread(later)) / 2;
  for (size_t i = 0; i < heads.size(); ++i) {
    EXPECT_NEAR(heads[i].effect, (later[i] - earlier[i]) / spread, 1e-9);
    EXPECT_NEAR(heads[i].effect_se, heads[i].change.se / (1 - 0.425 * 0.425) / spread,
                0.05 * heads[i].effect_se);
  }
  EXPECT_EQ(count_changed(CheckpointComparison({&before}, after, 1000).changes(view("r_k_run"))),
            0);
}

// One head whose number for this statistic has hardly any error.
CheckpointTable sure(const char* key, double number, int64_t context) {
  CheckpointTable made;
  made.label = std::to_string(context);
  made.blocks = 16;
  made.origin.context = context;
  made.units = {0.125, static_cast<double>(context)};
  Estimate estimate{number, 1e-12, std::vector<double>(16, number)};
  add_made_head(made, 0, 0, {{key, estimate}}, std::vector<double>(16, 100));
  return made;
}

TEST(HeadChanges, NumbersPerTokenOfTwoContextsAreNotCompared) {
  for (const char* key : {"bias_strength", "bias_off", "alpha_q", "alpha_k", "abs_alpha_k"}) {
    const char* column = key == std::string("abs_alpha_k") ? "alpha_k" : key;
    const CheckpointTable before = sure(column, 0.8, 512);
    const CheckpointTable same = sure(column, 0.2, 512), longer = sure(column, 0.2, 2048);
    EXPECT_EQ(count_changed(CheckpointComparison({&before}, same).changes(view(key))), 1);
    const auto heads = CheckpointComparison({&before}, longer).changes(view(key));
    ASSERT_EQ(heads.size(), 1u);
    EXPECT_TRUE(heads[0].other_context);
    EXPECT_FALSE(heads[0].changed);
    EXPECT_TRUE(std::isnan(heads[0].p) && std::isnan(heads[0].q));
    EXPECT_NEAR(heads[0].change.value, -0.6, 1e-12);
    const std::string table = summarize({before, longer}).changes;
    EXPECT_NE(table.find(",,,0,0,other_context\n"), std::string::npos) << table;
  }
  const CheckpointTable before = sure("bias_context", 0.8, 512);
  const CheckpointTable longer = sure("bias_context", 0.2, 2048);
  EXPECT_EQ(
      count_changed(CheckpointComparison({&before}, longer, 0.02).changes(view("bias_context"))),
      1);
}

TEST(HeadChanges, AChangeHasASizeOnItsScale) {
  // With a single head there is no spread over heads, so the scale's floor decides.
  const auto changes = [](const char* key, double from, double to) {
    const CheckpointTable before = sure(key, from, 512), after = sure(key, to, 512);
    return count_changed(CheckpointComparison({&before}, after).changes(view(key))) == 1;
  };
  EXPECT_FALSE(changes("bias_context", 2, 2.09));
  EXPECT_TRUE(changes("bias_context", 2, 2.11)) << "logits";
  // Times 511 steps and the scale: 0.09 and 0.11 logits.
  EXPECT_FALSE(changes("bias_off", 0, 0.09 / (0.125 * 511)));
  EXPECT_TRUE(changes("bias_off", 0, 0.11 / (0.125 * 511)));
  EXPECT_FALSE(changes("alpha_k", 0, 0.09 / 511));
  EXPECT_TRUE(changes("alpha_k", 0, 0.11 / 511));
  EXPECT_FALSE(changes("r_q_a", 0.99, 0.9905));
  EXPECT_TRUE(changes("r_q_a", 0.99, 0.992)) << "near 1 a correlation says more";
  EXPECT_FALSE(changes("logit_sd", 2, 2.1));
  EXPECT_TRUE(changes("logit_sd", 0.02, 0.022)) << "octaves";
  EXPECT_FALSE(changes("r2cv_q", -3, -0.5)) << "neither predicts";
  EXPECT_FALSE(changes("dist_range", 0, 1)) << "nothing has no octaves";
}

TEST(HeadChanges, AStepFunctionNeverChanges) {
  CheckpointTable before = sure("dist_argmax", 1, 512), after = sure("dist_argmax", 96, 512);
  for (CheckpointTable* one : {&before, &after}) {  // which differs, so that there is a spread
    add_made_head(*one, 0, 1, {{"dist_argmax", {300, 1e-12, std::vector<double>(16, 300)}}},
                  std::vector<double>(16, 100));
  }
  const auto heads = CheckpointComparison({&before}, after).changes(view("dist_argmax"));
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_FALSE(heads[0].changed);
  EXPECT_STREQ(heads[0].flag(), kStepFunction);
  EXPECT_TRUE(std::isnan(heads[0].change.se)) << "errors are in octaves";
  EXPECT_NEAR(heads[0].effect_se / heads[0].effect, std::sqrt(2) * 1e-12 / std::log2(97.0 / 2),
              1e-16)
      << "of both sides, not of replicates";
}

TEST(HeadChanges, SeedsThatDifferMakeABand) {
  const CheckpointTable one = noisy("0", 50, -0.1, 0.001, 1);
  const CheckpointTable two = noisy("1", 50, 0.1, 0.001, 2);
  const CheckpointTable after = noisy("a", 50, 0.15, 0.001, 3);
  const CheckpointComparison single({&one}, after), band({&one, &two}, after);
  EXPECT_EQ(count_changed(single.changes(view("abs_r_k"))), 50);
  const std::vector<HeadChange> heads = band.changes(view("abs_r_k"));
  EXPECT_EQ(count_changed(heads), 0) << "0.15 is within what seeds differ by";
  EXPECT_NEAR(heads[0].change.value, 0.15, 0.01);
  EXPECT_NEAR(heads[0].change.se, 0.2 / std::sqrt(2) * std::sqrt(1.5), 0.01);
  EXPECT_NEAR(heads[0].change.df, 1, 0.1);
}

TEST(HeadChanges, RatesAreThoseOfBenjaminiAndHochberg) {
  // R: p.adjust(c(0.01, 0.04, 0.03, 0.5), "BH")
  const std::vector<double> rates = false_discovery_rates({0.01, 0.04, std::nan(""), 0.03, 0.5});
  EXPECT_NEAR(rates[0], 0.04, 1e-12);
  EXPECT_NEAR(rates[1], 0.04 * 4 / 3, 1e-12);
  EXPECT_TRUE(std::isnan(rates[2]));
  EXPECT_NEAR(rates[3], 0.04 * 4 / 3, 1e-12);
  EXPECT_NEAR(rates[4], 0.5, 1e-12);
}

TEST(HeadChanges, ATableOfStepsBaselinesAndPairsAskedFor) {
  CheckpointTable baseline = noisy("0", 2, 0, 0.01, 1);
  baseline.random = true;
  const std::vector<CheckpointTable> run{baseline, noisy("a", 2, 0, 0.01, 2),
                                         noisy("b", 2, 0, 0.01, 3), noisy("=c", 2, 0, 0.01, 4)};
  const auto rows = [&](const ChangeOptions& options, const std::string& begin) {
    const std::string text = summarize(run, options).changes;
    size_t found = 0;
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
      ++found;
    return found;
  };
  // Two heads, each with |r_k|, r_q_run and r_k_run.
  EXPECT_EQ(rows({}, "\n,a,b,step,"), 6u);
  EXPECT_EQ(rows({}, "\n,b,'=c,step,"), 6u) << "no formula for spreadsheets";
  EXPECT_EQ(rows({}, ",step,"), 12u);
  EXPECT_EQ(rows({}, "\n,0,"), 18u) << "each against the baseline";
  EXPECT_EQ(rows({kMinChange, {{"a", "=c"}}}, "\n,a,'=c,between,"), 6u);
  EXPECT_THROW(summarize(run, {kMinChange, {{"a", "d"}}}), InputError);
}

TEST(ShareInterval, IsWilsons) {
  // scipy: binomtest(8, 16).proportion_ci(method="wilson")
  EXPECT_NEAR(share_interval(0.5, 16).low, 0.2799956361, 1e-6);
  EXPECT_NEAR(share_interval(0.5, 16).high, 0.7200043639, 1e-6);
  EXPECT_EQ(share_interval(0, 16).low, 0);
  EXPECT_NEAR(share_interval(0, 16).high, 0.1936076805, 1e-6);
}

}  // namespace
}  // namespace ropewalk
