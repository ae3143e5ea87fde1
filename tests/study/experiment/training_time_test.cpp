#include "ropewalk/study/experiment/training_time.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {
namespace {

constexpr std::nullopt_t kNone = std::nullopt;

TEST(TrainingTime, ReadsStepsAndTokensOfNames) {
  const std::vector<std::pair<const char*, TrainingTime>> names{
      {"step-40000", {40000, kNone}},
      {"stage1-step-40000", {40000, kNone}},
      {"stage1-step102000-tokens428B", {102000, 428'000'000'000}},
      {"step10000-tokens41B", {10000, 41'000'000'000}},
      {"stage2-ingredient3-step4000-tokens17B", {4000, 17'000'000'000}},
      {"lc-4k-to-32k-step-20000", {20000, kNone}},
      {"step0005000", {5000, kNone}},
      {"step143000", {143000, kNone}},
      {"step0", {0, kNone}},
      {"global_step1000", {1000, kNone}},
      {"iter_0001000", {1000, kNone}},
      {"checkpoint-400000", {400000, kNone}},
      {"Step=1.5k", {1500, kNone}},
      {"steps-40K", {40000, kNone}},
      {"step-240k-503b", {240000, 503'000'000'000}},
      {"tokens_1.2T", {kNone, 1'200'000'000'000}},
      {"hf_ckpt/16.78B", {kNone, 16'780'000'000}},
      {"checkpoints/step-10000", {10000, kNone}},
      {"checkpoints/2T/", {kNone, 2'000'000'000'000}},
  };
  for (const auto& [name, time] : names) EXPECT_EQ(read_training_time(name), time) << name;
}

TEST(TrainingTime, SaysNothingOfOtherNumbers) {
  for (const char* name :
       {"", "main", "ckpt_010", "S1-40K", "40000", "16.78B", "models/8B", "Llama-3.1-8B", "step",
        "step-", "step-x1", "footstep12", "step1.5", "step99999999999999999999"}) {
    EXPECT_EQ(read_training_time(name), TrainingTime{}) << name;
  }
}

TEST(TrainingTime, TakesWhatIsGivenThenTheRevisionThenTheLabel) {
  CheckpointEntry entry;
  entry.label = "step-7";
  EXPECT_EQ(training_time(entry), (TrainingTime{7, kNone}));
  entry.revision = "step10-tokens41B";
  EXPECT_EQ(training_time(entry), (TrainingTime{10, 41'000'000'000}));
  entry.step = 12;
  EXPECT_EQ(training_time(entry), (TrainingTime{12, 41'000'000'000}));
  entry.revision = std::nullopt;
  entry.step = std::nullopt;
  entry.path = "/models/hf_ckpt/16.78B";
  EXPECT_EQ(training_time(entry), (TrainingTime{7, 16'780'000'000}));
  entry.path = std::nullopt;
  entry.subfolder = "hf_ckpt/33.55B";
  EXPECT_EQ(training_time(entry), (TrainingTime{7, 33'550'000'000}));
  entry.subfolder.clear();
  entry.vectors = "hf://datasets/org/name@model-3b-stage1-step-40000-text-128k";
  EXPECT_EQ(training_time(entry), (TrainingTime{40000, kNone}));
  entry.random = 0;
  EXPECT_EQ(training_time(entry), TrainingTime{});
}

TEST(TrainingTime, FillsWhatATableDoesNotState) {
  CheckpointTable checkpoint;
  checkpoint.label = "step10-tokens41B @512";
  checkpoint.step = 12;
  fill_training_time(checkpoint);
  EXPECT_EQ(checkpoint.step, 12);
  EXPECT_EQ(checkpoint.tokens, 41'000'000'000);
  for (bool CheckpointTable::*none :
       {&CheckpointTable::random, &CheckpointTable::independent_model}) {
    CheckpointTable other;
    other.label = "step10";
    other.*none = true;
    fill_training_time(other);
    EXPECT_EQ(other.step, CheckpointTable::kUnknown);
  }
}

}  // namespace
}  // namespace ropewalk
