// The parts that an accumulator kept are found by its name in the streams of a head.
#include "ropewalk/analysis/replicates/kept_parts.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "tests/moments/collectors/made_up_accumulator.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

// The largest square among a key head's values.
class MadeUpParts : public KeptParts {
 public:
  explicit MadeUpParts(const AnalyzedCapture& capture) : capture_(capture) {}
  std::any part(StreamKind kind, int64_t row) const override {
    if (kind == StreamKind::query) return {};
    const AccumulatedFields& kept = capture_.moments.accumulated.back();
    return std::make_shared<const double>(kept.total[1][row].item<double>());
  }

 private:
  AnalyzedCapture capture_;
};

TEST(KeptParts, ReachTheStreamsByName) {
  const MadeUpAccumulator made_up{{kPostRope, "k"}};
  const AddedAccumulator added(made_up);
  const SmallRun run{{30, 20, 25}, 6, 0, 40};
  MomentsCollector collector(small_config(2, 6), {{0, 1}, {1, 2}}, {.blocks = 2});
  run.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = run.written(folder, collector);
  const std::vector<int64_t> blocks{0, 1};
  const std::string source = "made up";
  const AnalyzedCapture capture{moments, blocks, source};
  const auto input = [&](StreamKind kind) {
    StreamInput made;
    CaptureParts(capture).give(made.parts, kind, 1);
    return made;
  };
  EXPECT_EQ(input(StreamKind::key).part<double>("made_up"), nullptr) << "nothing reads it";
  {
    const AddedPartsReader reader({"made_up", [](const AnalyzedCapture& of) {
                                     return std::unique_ptr<KeptParts>(new MadeUpParts(of));
                                   }});
    double largest = 0;
    for (int64_t i = 0; i < 3; ++i) {
      largest =
          std::max(largest, run.vectors(i, 1, 2)[1].to(at::kDouble).square().max().item<double>());
    }
    EXPECT_EQ(*input(StreamKind::key).part<double>("made_up"), largest);
    EXPECT_EQ(input(StreamKind::query).part<double>("made_up"), nullptr);
    EXPECT_THROW(input(StreamKind::key).part<int>("made_up"), std::bad_any_cast);
  }
  EXPECT_TRUE(input(StreamKind::key).parts.empty());
}

}  // namespace
}  // namespace ropewalk
