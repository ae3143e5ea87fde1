#include "ropewalk/study/early_stop.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/analyze_capture.h"
#include "ropewalk/analysis/summary.h"
#include "ropewalk/model/describe_config.h"
#include "ropewalk/moments/moments_file.h"
#include "tests/moments/small_config.h"
#include "tests/moments/taken.h"
#include "tests/thread_job.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;

const ModelConfig kConfig = small_config(2, kDim);

CaptureInfo info() {
  CaptureInfo info;
  info.config = describe_config(kConfig);
  return info;
}

// Two heads of one layer read every `step`-th of so many documents.
class Reading {
 public:
  Reading(int64_t documents, int64_t first = 0, int64_t step = 1) {
    for (int64_t i = first; i < documents; i += step) {
      const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(i));
      const at::Tensor t = at::linspace(-1, 1, 40).unsqueeze(1);
      Document document;
      document.index = i;
      collector.on_vectors(taken(1, document, Positions::counted(40),
                                 at::randn({4, 40, kDim}, generator) + t,
                                 at::randn({2, 40, kDim}, generator) - t));
    }
  }

  MomentsCollector collector{kConfig, {{1, 0}, {1, 3}}, {.blocks = 16}};
};

TEST(EarlyStop, RoundsHaveSomethingForEveryProcess) {
  EXPECT_EQ(target_round({}), 8);
  EXPECT_EQ(target_round({}, /*shards=*/3), 24);
  EXPECT_EQ(target_round(Communicator({.count = 5}, nullptr)), 8);
  EXPECT_EQ(target_round(Communicator({.count = 13}, nullptr)), 13);
  EXPECT_EQ(round_after(0, {}), 8);
  EXPECT_EQ(round_after(7, {}), 8);
  EXPECT_EQ(round_after(8, {}), 16) << "the next one";
}

TEST(EarlyStop, TheWorseOfBothErrorsDecides) {
  const Reading reading(24);
  const auto& layer = reading.collector.layers().at(1);
  const CheckpointAnalysis analysis =
      analyze_capture(layer_moments(reading.collector, 1, layer, info()), 1, "test");
  const double worst = headline_error(analysis).worst;
  ASSERT_GT(worst, 0);
  EXPECT_FALSE(misses_target(reading.collector, info(), worst * 1.001, {}));
  EXPECT_TRUE(misses_target(reading.collector, info(), worst * 0.999, {}));
  // Of what all processes have read, and all of them hear the same.
  ThreadJob(3).run([&](const Communicator& processes) {
    const Reading part(24, processes.rank(), processes.count());
    EXPECT_FALSE(misses_target(part.collector, info(), worst * 1.001, processes));
    EXPECT_TRUE(misses_target(part.collector, info(), worst * 0.999, processes));
  });
}

TEST(EarlyStop, AnUnknownErrorMisses) {
  const Reading one_block(1);
  EXPECT_TRUE(misses_target(one_block.collector, info(), 1e9, {}));
}

}  // namespace
}  // namespace ropewalk
