// Compares logits by distance with all pairs of tokens in float64.
#include "ropewalk/moments/accumulators/lags.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/moments/lags.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 20;  // not a multiple of what is added side by side
constexpr int64_t kBlocks = 3;
constexpr int64_t kContext = 700;
const SmallRun kRun{{20, 2, 700, 4, 5, 33, 600}, kDim, 2, kContext};
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};  // KV heads 0 and 1, and 1

const ModelConfig kConfig = small_config(2, kDim);
const CollectorOptions kOptions{.blocks = kBlocks, .context = kContext};

TEST(Lags, AreSpacedByRatios) {
  EXPECT_EQ(lags_below(33), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}));
  EXPECT_EQ(lags_below(6), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(lags_below(2), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(lags_below(0).empty());
  EXPECT_TRUE(lags_below(-4).empty());
  EXPECT_TRUE(capture_lags({kDim, kPreRope, keep_nothing(), kContext}).empty());
  EXPECT_EQ(capture_lags({kDim, kPostRope, keep_nothing(), kContext}).back(), 512);
}

TEST(Lags, AreThoseOfAllPairs) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  kRun.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = kRun.written(folder, collector);
  EXPECT_EQ(names_of(moments.info.accumulators), std::vector<std::string>{"lags"});
  ASSERT_EQ(moments.accumulated.size(), 2);
  const AccumulatedFields& kept = moments.accumulated.back();
  const std::vector<int64_t> lags = capture_lags(collector.shape());
  for (int64_t stream = 0; stream < 3; ++stream) {
    const QueryHead head = kHeads[static_cast<size_t>(stream)];
    for (int64_t block = -1; block < kBlocks; ++block) {  // -1: all
      for (size_t i = 0; i < lags.size(); ++i) {
        double sum = 0;
        double size = 0;
        double squares = 0;
        int64_t count = 0;
        for (int64_t document = std::max<int64_t>(block, 0); document < 7;
             document += block < 0 ? 1 : kBlocks) {
          const int64_t tokens = kRun.lengths[static_cast<size_t>(document)];
          if (tokens - 4 <= lags[i]) continue;
          const at::Tensor q = kRun.vectors(document, head.layer, 4)[head.q_head].to(at::kDouble);
          const at::Tensor k =
              kRun.vectors(document, head.layer, 2)[head.q_head / 2].to(at::kDouble);
          const at::Tensor logits =
              (q.slice(0, 4 + lags[i]) * k.slice(0, 4, tokens - lags[i])).sum(1);
          sum += logits.sum().item<double>();
          size += logits.abs().sum().item<double>();
          squares += logits.square().sum().item<double>();
          count += logits.size(0);
        }
        const auto field = [&](size_t f) {
          const at::Tensor numbers =
              block < 0 ? kept.total[f][stream] : kept.blocks[f][stream][block];
          return numbers[static_cast<int64_t>(i)].item<double>();
        };
        EXPECT_NEAR(field(0), sum, 1e-6 * size);
        EXPECT_NEAR(field(1), squares, 1e-6 * squares);
        EXPECT_EQ(field(2), static_cast<double>(count));
      }
    }
  }
}

void expect_same(const CaptureMoments& found, const CaptureMoments& expected) {
  ASSERT_EQ(found.accumulated.size(), 2);
  for (size_t f = 0; f < 3; ++f) {
    const AccumulatedFields& a = found.accumulated.back();
    const AccumulatedFields& b = expected.accumulated.back();
    EXPECT_TRUE(at::allclose(a.total[f], b.total[f], 1e-12)) << f;
    EXPECT_TRUE(at::allclose(a.blocks[f].to(at::kFloat), b.blocks[f].to(at::kFloat))) << f;
  }
}

TEST(Lags, SurviveMergeResumeAndProcesses) {
  const TemporaryFolder folder;
  MomentsCollector whole(kConfig, kHeads, kOptions);
  kRun.read(whole);
  const CaptureMoments expected = kRun.written(folder, whole);
  const SmallParts parts{kRun, kConfig, kHeads, kOptions,
                         [&](const CaptureMoments& found) { expect_same(found, expected); }};
  parts.expect_merged(folder, kOptions);
  parts.expect_resumed(folder);
  parts.expect_joined(folder);
}

TEST(Lags, WantPositionsThatFollowEachOther) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  const Document document;
  const at::Tensor q = at::randn({4, 8, kDim});
  const at::Tensor k = at::randn({2, 8, kDim});
  const Positions packed(at::tensor({0, 1, 2, 3, 4, 5, 0, 1}, at::kLong));
  EXPECT_THROW(collector.on_vectors(taken(0, document, packed, q, k)), UsageError);
}

}  // namespace
}  // namespace ropewalk
