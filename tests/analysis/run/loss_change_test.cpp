#include "ropewalk/analysis/run/loss_change.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/analysis/run/summary.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

// Documents of one length with these losses per token; each is a block.
CheckpointTable made(const std::string& label, const std::vector<double>& losses) {
  CheckpointTable checkpoint;
  checkpoint.label = label;
  checkpoint.origin.context = 64;
  checkpoint.blocks = static_cast<int64_t>(losses.size());
  constexpr int64_t kTokens = 10;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    checkpoint.documents.emplace_back(index, 1);
    checkpoint.loss_parts.push_back({index, losses[i] * kTokens, kTokens});
    sum += losses[i];
  }
  const auto count = static_cast<double>(losses.size());
  for (const double one : losses) squares += (one - sum / count) * (one - sum / count);
  const auto groups = static_cast<int64_t>(losses.size());
  checkpoint.loss.push_back({0, 0, sum / count, std::sqrt(squares / (count - 1) / count), groups,
                             groups, groups * kTokens});
  add_made_head(checkpoint, 0, 0, {}, std::vector<double>(losses.size(), 10));
  checkpoint.axes = {{{1, 0}, 1, 1}};
  return checkpoint;
}

TEST(LossChange, IsPairedWhereTheDocumentsAreTheSame) {
  const CheckpointTable before = made("a", {2, 3, 4, 5}), after = made("b", {1, 2, 3, 4.4});
  const Change paired = loss_change(before, after);
  EXPECT_NEAR(paired.value, -0.9, 1e-12);
  EXPECT_NEAR(paired.se, 0.1, 1e-12) << "changes of -1, -1, -1 and -0.6: a deviation of 0.2";
  EXPECT_EQ(paired.df, 3);
  EXPECT_TRUE(paired.real());
  CheckpointTable other = after;
  other.documents[0].second = 2;
  const Change unpaired = loss_change(before, other);
  EXPECT_NEAR(unpaired.se, std::hypot(before.loss[0].se, after.loss[0].se), 1e-12);
  EXPECT_FALSE(unpaired.real());
  other.loss.clear();
  EXPECT_TRUE(std::isnan(loss_change(before, other).value));
}

TEST(LossChange, HasNoVerdictBetweenContexts) {
  const CheckpointTable before = made("a", {2, 3, 4, 5});
  CheckpointTable after = made("b", {1, 2, 3, 4.4});
  EXPECT_TRUE(summarize({before, after}).summary["differences"][0]["loss"]["real"].get<bool>());
  after.origin.context = 128;
  const Json change = summarize({before, after}).summary["differences"][0]["loss"];
  EXPECT_TRUE(change["real"].is_null());
  EXPECT_EQ(change["flag"], "other_context");
  after.loss.clear();
  EXPECT_FALSE(summarize({before, after}).summary["differences"][0].contains("loss"));
}

}  // namespace
}  // namespace ropewalk
