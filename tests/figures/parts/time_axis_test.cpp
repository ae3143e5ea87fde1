#include "ropewalk/figures/parts/time_axis.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

std::vector<std::string> texts(const TimePositions& positions) {
  std::vector<std::string> all;
  for (const auto& [position, text] : positions.ticks) all.push_back(text);
  return all;
}

using Texts = std::vector<std::string>;

constexpr double kUnit = 600 / kTimeLength;

TEST(TimeAxis, PlacesNumbersInProportion) {
  const TimePositions positions = time_positions({1000, 2000, 5000}, false, kUnit);
  EXPECT_DOUBLE_EQ(positions.along[0], 0);
  EXPECT_DOUBLE_EQ(positions.along[1], kTimeLength / 4);
  EXPECT_DOUBLE_EQ(positions.along[2], kTimeLength);
  EXPECT_EQ(texts(positions), (Texts{"1k", "2k", "3k", "4k", "5k"}));
  EXPECT_DOUBLE_EQ(positions.ticks[1].first, kTimeLength / 4);
}

TEST(TimeAxis, PlacesZeroOnALogarithmicAxis) {
  const TimePositions positions = time_positions({0, 1, 10, 100, 143000}, true, kUnit);
  EXPECT_DOUBLE_EQ(positions.along[0], 0);
  EXPECT_NEAR(positions.along[1], 0.06 * kTimeLength, 1e-9);
  EXPECT_NEAR(positions.along[3] - positions.along[2], positions.along[2] - positions.along[1],
              1e-9);
  EXPECT_DOUBLE_EQ(positions.along[4], kTimeLength);
  EXPECT_EQ(texts(positions), (Texts{"0", "1", "10", "100", "1k", "10k", "100k"}));
}

TEST(TimeAxis, WritesTokensWithUnits) {
  const TimePositions positions = time_positions({41'000'000'000, 5'033'000'000'000}, true, kUnit);
  EXPECT_EQ(texts(positions), (Texts{"50B", "100B", "200B", "500B", "1T", "2T", "5T"}));
}

TEST(TimeAxis, LeavesOutTicksWithoutRoom) {
  EXPECT_EQ(texts(time_positions({0, 1, 143000}, true, 60 / kTimeLength)), (Texts{"0", "100"}));
}

TEST(TimeAxis, TakesOneCheckpoint) {
  for (const bool logarithmic : {false, true}) {
    EXPECT_EQ(time_positions({500}, logarithmic, kUnit).along, std::vector<double>{0});
    EXPECT_EQ(texts(time_positions({500}, logarithmic, kUnit)), Texts{"500"});
    EXPECT_EQ(texts(time_positions({0}, logarithmic, kUnit)), Texts{"0"});
  }
  EXPECT_EQ(time_positions({0, 500}, true, kUnit).along, (std::vector<double>{0, kTimeLength}));
}

TEST(TimeAxis, SaysWhichNumberIsMissingOrRunsBackwards) {
  const std::vector<TimedLabel> run{{"a", 10, -1}, {"b", 40, 7}, {"c", 20, 9}};
  EXPECT_EQ(time_problem(run, TimeAxis::labels), "");
  EXPECT_EQ(time_problem({run[0], run[1]}, TimeAxis::log_steps), "");
  EXPECT_EQ(time_problem(run, TimeAxis::log_tokens),
            "axis log-tokens: 'a' does not state its tokens; give it tokens: N in the experiment, "
            "or use the axis labels");
  EXPECT_EQ(time_problem(run, TimeAxis::steps),
            "axis steps: 'c' (step 20) comes after 'b' (step 40); give them step: N in the "
            "experiment, counted from the beginning of training, or use the axis labels");
}

}  // namespace
}  // namespace ropewalk
