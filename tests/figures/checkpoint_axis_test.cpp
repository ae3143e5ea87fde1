#include "ropewalk/figures/checkpoint_axis.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

RunNumbers run_of(const std::vector<std::pair<std::string, std::string>>& labels_and_phases) {
  RunNumbers run;
  for (const auto& [label, phase] : labels_and_phases) {
    CheckpointNumbers numbers;
    numbers.label = label;
    numbers.phase = phase;
    run.checkpoints.push_back(numbers);
  }
  return run;
}

TEST(CheckpointAxis, PlacesCheckpointsOneStepApart) {
  const RunNumbers run = run_of({{"a", ""}, {"b", ""}});
  const CheckpointAxis axis(run);
  EXPECT_EQ(axis.slots().size(), 2u);
  EXPECT_DOUBLE_EQ(axis.slots()[1].along, 1);
  EXPECT_DOUBLE_EQ(axis.from(), -0.5);
  EXPECT_DOUBLE_EQ(axis.to(), 1.5);
  EXPECT_TRUE(axis.spans().empty());
  EXPECT_TRUE(axis.separator_rows().empty());
}

TEST(CheckpointAxis, SeparatesPhases) {
  const RunNumbers run = run_of({{"a", "P"}, {"b", "P"}, {"c", "Q"}, {"d", "P"}});
  const CheckpointAxis axis(run);
  ASSERT_EQ(axis.spans().size(), 3u);
  EXPECT_EQ(axis.spans()[0].name, "P");
  EXPECT_DOUBLE_EQ(axis.spans()[0].to, 1.5);
  EXPECT_EQ(axis.separator_rows(), Json::parse(R"([{"position": 1.5}, {"position": 2.5}])"));
}

TEST(CheckpointAxis, SetsBaselinesApart) {
  RunNumbers run = run_of({{"a", "P"}});
  run.baselines = run_of({{"init", ""}}).checkpoints;
  const CheckpointAxis axis(run);
  EXPECT_TRUE(axis.slots()[0].baseline);
  EXPECT_DOUBLE_EQ(axis.slots()[0].along, -1.5);
  EXPECT_EQ(axis.spans()[0].name, "baseline");
  EXPECT_EQ(axis.separator_rows(), Json::parse(R"([{"position": -0.75}])"));
  EXPECT_EQ(axis.params()[0]["value"], Json::parse("[-1.5, 0]"));
  EXPECT_EQ(axis.params()[1]["value"], Json::parse(R"(["init", "a"])"));
}

TEST(CheckpointAxis, SlantsAndThinsLabelsThatDoNotFit) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("checkpoint-" + std::to_string(i), "");
  const RunNumbers few = run_of({{"a", ""}, {"b", ""}}), crowd = run_of(many);
  EXPECT_EQ(CheckpointAxis(few).x_channel(600)["axis"]["labelAngle"], 0);
  const Json axis = CheckpointAxis(crowd).x_channel(600)["axis"];
  EXPECT_EQ(axis["labelAngle"], -40);
  EXPECT_LE(axis["values"].size(), 40u);
  EXPECT_EQ(axis["values"].back(), 99);  // the last is always named
}

TEST(CheckpointAxis, SaysHowManyHeads) {
  RunNumbers run = run_of({{"a", ""}, {"b", ""}});
  run.checkpoints[0].heads.resize(3);
  run.checkpoints[1].heads.resize(3);
  EXPECT_EQ(heads_text(run), "3 heads");
  run.checkpoints[1].heads.resize(1);
  run.checkpoints[1].undefined = 2;
  EXPECT_EQ(heads_text(run), "1–3 heads (2 without values left out)");
}

}  // namespace
}  // namespace ropewalk
