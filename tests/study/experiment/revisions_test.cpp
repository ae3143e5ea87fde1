#include "ropewalk/study/experiment/revisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

using Names = std::vector<std::string>;

void expect_order(const Names& names) {
  Names shuffled = names;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  std::sort(shuffled.begin(), shuffled.end(), trained_before);
  EXPECT_EQ(shuffled, names);
}

TEST(Revisions, OrderOfTraining) {
  expect_order({"stage1-step-40000", "stage1-step-1200000", "stage1-step-3440000",
                "stage2-step-4200000", "stage3-step-4720000", "lc-4k-to-32k-step-4000",
                "lc-4k-to-32k-step-20000", "lc-32k-to-64k-step-4000", "lc-32k-to-64k-step-20000",
                "main"});                                                // SmolLM3
  expect_order({"step-125000", "step-250000", "step-1000000", "main"});  // SmolLM2
  expect_order({"step0", "step1", "step2", "step512", "step1000", "step10000", "step143000",
                "main"});  // Pythia
  expect_order({"stage1-step0-tokens0B", "stage1-step1000-tokens3B", "stage1-step10000-tokens21B",
                "stage1-step100000-tokens210B", "stage1-step1000000-tokens2098B",
                "stage2-ingredient1-step1000-tokens3B", "stage2-ingredient1-step20000-tokens42B",
                "stage2-ingredient2-step1000-tokens3B", "main"});                     // OLMo 2
  expect_order({"step1000-tokens4B", "step2000-tokens8B", "step100000-tokens442B"});  // OLMo
  expect_order({"ckpt_000", "ckpt_009", "ckpt_010", "ckpt_358", "main"});             // Amber
  expect_order({"step-50K-105b", "step-240k-503b", "step-480k-1T", "step-715k-1.5T",
                "step-955k-token-2T", "step-1195k-token-2.5T", "step-1431k-3T"});  // TinyLlama
}

TEST(Revisions, Steps) {
  const auto expect_step = [](const char* name, const char* series, int64_t step) {
    const auto found = revision_step(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->series, series) << name;
    EXPECT_EQ(found->step, step) << name;
  };
  expect_step("stage1-step-40000", "stage1-step-", 40000);
  expect_step("step143000", "step", 143000);
  expect_step("stage2-ingredient1-step1000-tokens3B", "stage2-ingredient1-step", 1000);
  expect_step("ckpt_358", "ckpt_", 358);
  expect_step("step-1431k-3T", "step-", 1431000);
  EXPECT_FALSE(revision_step("main"));
}

TEST(Revisions, GapsOfEvenSeries) {
  using Gaps = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(missing_steps({1000, 2000, 3000, 4000, 5000}), Gaps{});
  EXPECT_EQ(missing_steps({1000, 2000, 4000, 5000, 6000}), (Gaps{{3000, 3000}}));
  EXPECT_EQ(missing_steps({6000, 1000, 2000, 5000}), (Gaps{})) << "no rhythm yet";
  EXPECT_EQ(missing_steps({1000, 2000, 3000, 4000, 8000, 9000}), (Gaps{{5000, 7000}}));
  EXPECT_EQ(missing_steps({0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 3000, 5000, 6000}),
            (Gaps{{4000, 4000}}))
      << "dense at first";
  EXPECT_EQ(missing_steps({40000, 1200000, 2400000, 3440000}), Gaps{});
  EXPECT_EQ(
      missing_steps({1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 23, 29, 36, 45, 56, 70, 87, 109}),
      Gaps{})
      << "evenly spaced on a logarithmic axis";
  EXPECT_EQ(missing_steps({}), Gaps{});
}

Experiment with_pattern(const std::string& pattern) {
  Experiment experiment;
  experiment.file = "e.yaml";
  Phase phase;
  phase.name = "P";
  phase.revisions = pattern;
  phase.line = 7;
  experiment.phases = {phase};
  return experiment;
}

TEST(Revisions, PatternsOfFolders) {
  const TemporaryFolder folder;
  for (const char* name : {"step-200", "step-1000", "step-30", "other"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  folder.write("step-5", "a file");
  Experiment experiment = with_pattern("step-*");
  experiment.model = folder.path().string();
  expand_revisions(experiment);
  Names labels;
  for (const CheckpointEntry& entry : experiment.phases[0].checkpoints) {
    labels.push_back(entry.label);
    EXPECT_EQ(entry.label, *entry.revision);
  }
  EXPECT_EQ(labels, (Names{"step-30", "step-200", "step-1000"}));

  const std::string long_name = "step-" + std::string(200, '1');
  std::filesystem::create_directory(folder.path() / long_name);
  experiment = with_pattern("step-*");
  experiment.model = folder.path().string();
  EXPECT_THROW(expand_revisions(experiment), InputError) << "no room for it and what is beside it";
  std::filesystem::remove(folder.path() / long_name);

  experiment = with_pattern("stage*");
  EXPECT_THROW(expand_revisions(experiment), InputError) << "no model";
  experiment.model = folder.path().string();
  try {
    expand_revisions(experiment);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "e.yaml:7: revisions \"stage*\" matches none of the 4 of " + folder.path().string());
  }
  experiment = with_pattern("step-*");
  experiment.phases.push_back(experiment.phases[0]);
  experiment.model = folder.path().string();
  EXPECT_THROW(expand_revisions(experiment), InputError) << "labels twice";
}

}  // namespace
}  // namespace ropewalk
