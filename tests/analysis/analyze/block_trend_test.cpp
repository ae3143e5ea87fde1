#include "ropewalk/analysis/analyze/block_trend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {
namespace {

constexpr size_t kBlocks = 8;

// Heads with one row each, whose r_q is the mean over blocks of these numbers.
CheckpointTable made_of(const std::vector<std::vector<double>>& heads) {
  CheckpointTable made;
  made.columns.resize(statistics().size());
  const size_t rows = heads.size();
  for (HeadColumn& column : made.columns) column.value.assign(rows, 0.5);
  for (auto* list : {&made.layer, &made.pc, &made.kv_head}) list->assign(rows, 0);
  made.n_blocks.assign(rows, kBlocks);
  made.head_flag.resize(rows);
  HeadColumn& r_q = made.columns[statistic_index("r_q")];
  for (size_t head = 0; head < rows; ++head) {
    made.q_head.push_back(static_cast<int64_t>(head));
    double mean = 0;
    for (const double block : heads[head]) mean += block / kBlocks;
    r_q.value[head] = mean;
    for (const double block : heads[head]) {
      r_q.replicates.push_back((mean * kBlocks - block) / (kBlocks - 1));
    }
  }
  return made;
}

const std::vector<double> kRising{.10, .13, .14, .17, .18, .21, .22, .25};
const std::vector<double> kEven{.10, .13, .09, .12, .11, .13, .10, .12};
const std::vector<double> kSteps{0, 1, 2, 3, 4, 5, 6, 7};

TEST(BlockTrend, FlagsHeadsThatMovedWhileTheyWereMeasured) {
  CheckpointTable made = made_of({kEven, kRising, std::vector<double>(kBlocks, std::nan(""))});
  EXPECT_EQ(flag_trends(made, kSteps), 1);
  EXPECT_EQ(made.head_flag, (std::vector<std::string>{"", "trend", ""}));
}

TEST(BlockTrend, OneSetOfWeightsHasNone) {
  CheckpointTable made = made_of({kRising});
  EXPECT_EQ(flag_trends(made, std::vector<double>(kBlocks, 3)), 0);
  EXPECT_EQ(flag_trends(made, {}), 0);
  EXPECT_EQ(flag_trends(made, {0, 1, 2}), 0) << "of other blocks";
}

}  // namespace
}  // namespace ropewalk
