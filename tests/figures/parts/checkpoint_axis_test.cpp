#include "ropewalk/figures/parts/checkpoint_axis.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

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

TEST(CheckpointAxis, NoLineJoinsModels) {
  RunNumbers run = run_of({{"a", ""}, {"b", ""}});
  EXPECT_EQ(figure_title(run, "Classes over training"), "Classes over training");
  run.models = true;
  EXPECT_EQ(CheckpointAxis(run).lines(), (std::vector<std::vector<size_t>>{{0}, {1}}));
  EXPECT_EQ(figure_title(run, "Classes over training"), "Classes by model");
  EXPECT_EQ(figure_title(run, "r_q by depth over training"), "r_q by depth and model");
  EXPECT_EQ(figure_title(run, "Heads by query"), "Heads by query");
}

TEST(CheckpointAxis, LinesJoinStepsAtOneContext) {
  using Lines = std::vector<std::vector<size_t>>;
  // One context each, as in the published run: a single line, whatever the contexts are.
  RunNumbers published = run_of({{"a", "P"}, {"b", "P"}, {"c", "Q"}});
  published.checkpoints[2].context = 1024;
  EXPECT_EQ(CheckpointAxis(published).lines(), (Lines{{0, 1, 2}}));
  EXPECT_EQ(CheckpointAxis(published).spans()[1].text(), "Q");
  // A checkpoint whose label does not state its context continues the line of this context.
  RunNumbers run = run_of({{"a", "P"}, {"b@512", "Q"}, {"b@1024", "Q"}, {"c", "R"}});
  const int64_t contexts[] = {512, 512, 1024, 1024};
  for (size_t i = 0; i < 4; ++i) run.checkpoints[i].context = contexts[i];
  run.baselines = run_of({{"init@512", ""}, {"init@1024", ""}, {"init@2048", ""}}).checkpoints;
  for (CheckpointNumbers& baseline : run.baselines) {
    baseline.context = std::stoll(baseline.label.substr(5));
  }
  const CheckpointAxis axis(run);
  EXPECT_TRUE(axis.several_contexts());
  EXPECT_EQ(axis.lines(), (Lines{{3, 4}, {5, 6}}));  // after three baselines
  std::vector<std::string> names;
  for (const PhaseSpan& span : axis.spans()) names.push_back(span.text());
  EXPECT_EQ(names,
            (std::vector<std::string>{"baseline", "P @512", "Q @512", "Q @1024", "R @1024"}));
  // Each baseline is drawn along the checkpoints of its context; there is none at 2048.
  ASSERT_EQ(axis.baseline_reaches().size(), 2u);
  EXPECT_EQ(axis.baseline_reaches()[0].slot, 0u);
  EXPECT_DOUBLE_EQ(axis.baseline_reaches()[0].from, -0.5);
  EXPECT_DOUBLE_EQ(axis.baseline_reaches()[0].to, 1.5);
  EXPECT_EQ(axis.baseline_reaches()[1].slot, 1u);
  EXPECT_DOUBLE_EQ(axis.baseline_reaches()[1].to, 3.5);
}

TEST(CheckpointAxis, TwoStepsFromOneCheckpointAreTwoLines) {
  RunNumbers run = run_of({{"a", ""}, {"b", ""}, {"c@512", ""}, {"c@1024", ""}});
  run.checkpoints[0].context = 512;
  for (size_t i = 1; i < 4; ++i) run.checkpoints[i].context = i == 2 ? 512 : 1024;
  const CheckpointAxis axis(run);
  EXPECT_EQ(axis.lines(), (std::vector<std::vector<size_t>>{{0, 1, 3}, {0, 2}}));
  EXPECT_EQ(axis.slots()[0].line, 0u);
  EXPECT_EQ(axis.spans()[1].text(), "@1024");
}

TEST(CheckpointAxis, SlantsAndThinsLabelsThatDoNotFit) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("checkpoint-" + std::to_string(i), "");
  const RunNumbers few = run_of({{"a", ""}, {"b", ""}}), crowd = run_of(many);
  EXPECT_EQ(CheckpointAxis(few).x_channel(600)["axis"]["labelAngle"], 0);
  const Json axis = CheckpointAxis(crowd).x_channel(600)["axis"];
  EXPECT_EQ(axis["labelAngle"], -40);
  EXPECT_LE(axis["values"].size(), 40u);
  EXPECT_EQ(axis["values"].back(), 99);  // the last one always has a label
}

TEST(CheckpointAxis, LaysOutByTime) {
  RunNumbers run = run_of({{"a", "P"}, {"b", "P"}, {"c", "Q"}});
  run.source = "qk.csv";
  run.baselines = run_of({{"init", ""}}).checkpoints;
  for (size_t i = 0; i < 3; ++i) run.checkpoints[i].step = std::vector{1000, 2000, 5000}[i];
  const CheckpointAxis axis(run, TimeAxis::steps);
  EXPECT_DOUBLE_EQ(axis.slots()[0].along, -1.5);
  EXPECT_DOUBLE_EQ(axis.slots()[2].along, kTimeLength / 4);
  EXPECT_DOUBLE_EQ(axis.slots()[2].from, kTimeLength / 8);
  EXPECT_DOUBLE_EQ(axis.slots()[2].to, kTimeLength * 5 / 8);
  EXPECT_DOUBLE_EQ(axis.slots()[3].to, kTimeLength + 0.5);
  EXPECT_DOUBLE_EQ(axis.spans()[2].from, kTimeLength * 5 / 8);
  EXPECT_EQ(axis.params()[1]["value"], Json::parse(R"(["init", "1k", "2k", "3k", "4k", "5k"])"));
  EXPECT_EQ(axis.x_channel(660)["axis"]["values"], axis.params()[0]["value"]);
  EXPECT_EQ(axis.x_channel(660)["axis"]["title"], "training steps");
  EXPECT_FALSE(axis.crowded(660));
  EXPECT_TRUE(CheckpointAxis(run, TimeAxis::steps).crowded(40));
  EXPECT_THROW(CheckpointAxis(run, TimeAxis::tokens), InputError);
}

TEST(CheckpointAxis, BaselinesLeaveTheRoomToTheRun) {
  RunNumbers run = run_of({{"a", "P"}, {"b", "P"}});
  run.source = "qk.csv";
  for (size_t i = 0; i < 2; ++i) run.checkpoints[i].step = std::vector{1, 1000}[i];
  const auto share = [&](size_t seeds, TimeAxis time) {
    std::vector<std::pair<std::string, std::string>> names;
    for (size_t i = 0; i < seeds; ++i) names.emplace_back(std::to_string(i), "");
    run.baselines = run_of(names).checkpoints;
    const CheckpointAxis axis(run, time);
    for (size_t i = 0; i + 1 < seeds; ++i) {
      EXPECT_DOUBLE_EQ(axis.slots()[i].to, axis.slots()[i + 1].from);
    }
    EXPECT_DOUBLE_EQ(axis.from(), axis.slots()[0].from);
    return (axis.slots()[seeds - 1].to - axis.from()) / axis.length();
  };
  EXPECT_NEAR(share(3, TimeAxis::log_steps), 0.15, 0.01);
  EXPECT_NEAR(share(5, TimeAxis::log_steps), 0.15, 0.01);
  EXPECT_GT(share(3, TimeAxis::labels), 0.4) << "places of names are all as wide";
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
