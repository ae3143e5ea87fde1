#include "ropewalk/study/run/run.h"

#include <gtest/gtest.h>

#include <atomic>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

std::atomic<int> asked = 0;

const Statistic kImpossible{.key = "impossible",
                            .title = "impossible",
                            .definition = "cannot be computed of anything",
                            .scale = ChangeScale::plain,
                            .per = Granularity::head,
                            .views = {{.key = "impossible", .name = "impossible"}},
                            .compute = [](const HeadReplicates&) -> at::Tensor {
                              ++asked;
                              throw InputError("tensor 'x' holds values that are not finite");
                            }};

// A capture that took hours is not the reason of the failure, and stays.
TEST(RunStudy, LeavesACheckpointThatCannotBeAnalysed) {
  TinyCheckpoint tiny;
  const TemporaryFolder folder;
  const std::string model = tiny.open().checkpoint->folder().string();
  folder.write("c.jsonl",
               "{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8]}\n{\"tokens\": [8, 7, 6, 5, 4, 3]}\n");
  RunOptions options;
  options.experiment = folder.write(
      "e.yaml", fmt::format("name: T\ncorpus: {{path: c.jsonl, min_tokens: 4}}\ndevice: cpu\n"
                            "heads: {{count: 1}}\nphases:\n  - name: P\n    context: 8\n"
                            "    checkpoints:\n      - {{label: A, path: {}}}\n",
                            model));
  options.out = folder.path() / "out";
  options.formats = {};
  const AddedStatistic added(kImpossible);
  asked = 0;
  try {
    run_study(options);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), fmt::format("'A' cannot be analysed: tensor 'x' holds values that are "
                                        "not finite; {} is not changed",
                                        (*options.out / "checkpoints" / "A").string()));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(std::filesystem::exists(*options.out / "checkpoints" / "A" / "moments.safetensors"));
}

}  // namespace
}  // namespace ropewalk
