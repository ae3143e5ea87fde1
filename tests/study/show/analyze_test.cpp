#include "ropewalk/study/show/analyze.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

std::vector<std::string> ordered(const std::vector<std::string>& labels, bool* moved = nullptr) {
  std::vector<CheckpointTable> checkpoints;
  for (const std::string& label : labels) {
    CheckpointTable checkpoint;
    checkpoint.label = label;
    checkpoint.random = label.starts_with("init");
    checkpoints.push_back(checkpoint);
  }
  const bool any = order_by_training(checkpoints);
  if (moved != nullptr) *moved = any;
  std::vector<std::string> result;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    EXPECT_EQ(checkpoints[i].order, static_cast<int64_t>(i));
    result.push_back(checkpoints[i].label);
  }
  return result;
}

using Labels = std::vector<std::string>;

TEST(Analyze, OrdersByStep) {
  bool moved = false;
  EXPECT_EQ(ordered({"step-120", "step-1600", "step-40"}, &moved),
            (Labels{"step-40", "step-120", "step-1600"}));
  EXPECT_TRUE(moved);
  EXPECT_EQ(ordered({"main", "init", "10K", "2K", "init-1"}),
            (Labels{"init", "init-1", "2K", "10K", "main"}));
  EXPECT_EQ(ordered({"S1-40K", "S2-4.2M", "LC1-4K"}, &moved),
            (Labels{"S1-40K", "S2-4.2M", "LC1-4K"}));
  EXPECT_FALSE(moved);
}

TEST(Analyze, KeepsTheOrderWhereLabelsNameNoStep) {
  EXPECT_EQ(ordered({"before", "after"}), (Labels{"before", "after"}));
  EXPECT_EQ(ordered({"step-9", "base", "step-3"}), (Labels{"step-9", "base", "step-3"}));
  EXPECT_EQ(ordered({"tuned", "init", "base"}), (Labels{"init", "tuned", "base"}));
}

}  // namespace
}  // namespace ropewalk
