#include "ropewalk/figures/parts/view_look.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

IndexedView view(const std::string& key) { return all_views()[view_index(key)]; }

void expect_limits(const std::string& key, double least, double most, double low, double high) {
  const Limits limits = view_limits(view(key), least, most);
  EXPECT_NEAR(limits.low, low, 1e-12) << key;
  EXPECT_NEAR(limits.high, high, 1e-12) << key;
}

TEST(ViewLook, LimitsAreDeclaredOrFitTheNumbers) {
  expect_limits("r_k", -0.1, 0.2, -1, 1);
  expect_limits("r_q", 0.1, 0.2, 0, 1);
  expect_limits("drift_cos", 0.1, 0.2, -1, 1);
  expect_limits("logit_pos_share", 0, 0.04, 0, 1);
  expect_limits("r2cv_q", -0.31, 0.9, -0.35, 1);
  expect_limits("r2cv_q", 0.1, 0.9, 0, 1);
  expect_limits("bias_context", -0.9, 3.2, -1, 3.5);
  expect_limits("bias_context", -3, -1, -3, 0);
  expect_limits("bias_strength", 0, 0.0183, 0, 0.02);
  expect_limits("abs_alpha_k", 0, 0.004, 0, 0.004);
  expect_limits("rank90_q", 2, 25.4, 0, 30);
  expect_limits("bias_context", -1.7e308, 1.7e308, -1.7e308, 1.7e308);
  expect_limits("bias_context", 0, 0, 0, 1);
  expect_limits("bias_context", std::nan(""), std::nan(""), 0, 1);
}

TEST(ViewLook, WordsAreTheStatisticsOwn) {
  EXPECT_EQ(view_title(view("r_q")), "r_q on PC0");
  EXPECT_EQ(capital_title(view("r_q")), "r_q on PC0");
  EXPECT_EQ(view_title(view("abs_r_k")), "|r_k| on PC0");
  EXPECT_EQ(capital_title(view("bias_context")), "Bias over the context");
  EXPECT_EQ(view_sentence(view("abs_r_k")),
            "Absolute value of the correlation of keys along the component with token position.");
}

TEST(ViewLook, UnknownKeysGetTheNearestNames) {
  EXPECT_EQ(unknown_statistic_error("r_q"), "");
  EXPECT_EQ(unknown_statistic_error("abs_r_k"), "");
  EXPECT_EQ(unknown_statistic_error("R2CV_Q"),
            "no statistic is named 'R2CV_Q'; did you mean r2cv_q, r2cv_k or r2_q?");
  EXPECT_EQ(unknown_statistic_error("rank"),
            "no statistic is named 'rank'; did you mean rank90_q, rank90_k, r_k or r2_k?");
  // By the words of a name, and by its beginning.
  EXPECT_EQ(unknown_statistic_error("logit_share"),
            "no statistic is named 'logit_share'; did you mean logit_pos_share?");
  EXPECT_EQ(unknown_statistic_error("within_class"),
            "no statistic is named 'within_class'; did you mean within_ev, within_r_q or "
            "within_r_k?");
  EXPECT_NE(unknown_statistic_error("q_filter_thing").find("such as r2cv_q"), std::string::npos);
  // Names of summary.json and of errors, and absolute values of statistics that are never negative.
  const auto meant = [](const std::string& name, const std::string& key) {
    EXPECT_EQ(unknown_statistic_error(name),
              "no statistic is named '" + name + "'; did you mean " + key + "?");
  };
  meant("mean_r_q", "r_q");
  meant("sd_r_k", "r_k");
  meant("depth_r2cv_q", "r2cv_q");
  meant("mean_abs_r_k", "abs_r_k");
  meant("pc0_explained_variance", "explained_variance");
  meant("abs_r_q", "r_q");
  meant("abs_r2cv_q", "r2cv_q");
  meant("mean_abs_bias_context", "bias_context");
  meant("r2cv_q_se", "r2cv_q");
  meant("abs_biascontext", "bias_context");
  EXPECT_NE(unknown_statistic_error("elephants").find("docs/formats.md"), std::string::npos);
  EXPECT_NE(unknown_statistic_error(std::string(100000, 'x')).find("docs/formats.md"),
            std::string::npos);
  EXPECT_NE(unknown_statistic_error("").find("docs/formats.md"), std::string::npos);
  EXPECT_THROW(find_view("elephants"), UsageError);
  EXPECT_EQ(find_view("r_k"), view_index("r_k"));
}

}  // namespace
}  // namespace ropewalk
