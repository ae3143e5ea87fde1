// Compares logits by distance with all pairs of tokens in float64.
#include "ropewalk/moments/accumulators/lags.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/files/kept_fields.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 20;  // not a multiple of what is added side by side
constexpr int64_t kBlocks = 3;
constexpr int64_t kContext = 700;
const SmallRun kRun{{20, 2, 700, 4, 5, 33, 600}, kDim, 2, kContext};
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};  // KV heads 0 and 1, and 1

// Attention of the second layer slides.
ModelConfig config() {
  ModelConfig config = small_config(2, kDim);
  config.layers[1].window = 50;
  return config;
}
const ModelConfig kConfig = config();

CollectorOptions options() {
  CollectorOptions options{.blocks = kBlocks, .context = kContext};
  options.keep.lags = true;
  return options;
}
const CollectorOptions kOptions = options();

// Where windows begin.
std::vector<int64_t> begins(const std::vector<DistanceWindow>& windows) {
  std::vector<int64_t> found;
  for (const DistanceWindow& window : windows) found.push_back(window.begin);
  return found;
}

TEST(DistanceWindows, AreAnOctaveWideAndHalfAnOctaveApart) {
  const auto windows = distance_windows(36, {}, 4);
  EXPECT_EQ(begins(windows), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24}));
  for (const DistanceWindow& window : windows) {
    const int64_t end = window.begin < 4 ? window.begin + 1 : 2 * window.begin;
    EXPECT_EQ(window.end, std::min<int64_t>(end, 36)) << window.begin;
  }
  // Of the last one, a quarter of an octave is there.
  EXPECT_EQ(distance_windows(40, {}, 4).back(), (DistanceWindow{24, 40}));
  EXPECT_EQ(distance_windows(41, {}, 4).back(), (DistanceWindow{32, 41}));
  EXPECT_EQ(distance_windows(700, 41, 4), distance_windows(41, {}, 0));
  EXPECT_EQ(distance_windows(41, 700, 4), distance_windows(41, {}, 4));
  // Where tokens of the context are so far apart.
  EXPECT_EQ(begins(distance_windows(6, {}, 4)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(begins(distance_windows(10, {}, 4)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(distance_windows(4, {}, 4).empty());
  EXPECT_TRUE(distance_windows(0, {}, 4).empty());
  CaptureShape shape{.head_dim = kDim, .keep = keep_everything(), .context = kContext};
  EXPECT_EQ(capture_windows(shape).back(), (DistanceWindow{512, 700}));
  shape.point = kPreRope;
  EXPECT_TRUE(capture_windows(shape).empty());
}

// All pairs of a head's tokens in documents of a block, -1: of all.
struct AllPairs {
  double sum = 0, size = 0, count = 0;

  AllPairs(const SmallRun& run, const QueryHead& head, int64_t block,
           const DistanceWindow& window) {
    for (int64_t document = std::max<int64_t>(block, 0); document < run.count();
         document += block < 0 ? 1 : kBlocks) {
      const int64_t tokens = run.lengths[static_cast<size_t>(document)];
      const at::Tensor q = run.vectors(document, head.layer, 4)[head.q_head].to(at::kDouble);
      const at::Tensor k = run.vectors(document, head.layer, 2)[head.q_head / 2].to(at::kDouble);
      for (int64_t lag = window.begin; lag < std::min(window.end, tokens - 4); ++lag) {
        const at::Tensor logits = (q.slice(0, 4 + lag) * k.slice(0, 4, tokens - lag)).sum(1);
        sum += logits.sum().item<double>();
        size += logits.abs().sum().item<double>();
        count += static_cast<double>(logits.size(0));
      }
    }
  }
};

void expect_all_pairs(const SmallRun& run) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  run.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = run.written(folder, collector);
  EXPECT_EQ(names_of(moments.info.accumulators), std::vector<std::string>{"lags"});
  ASSERT_EQ(moments.accumulated.size(), 2);
  const AccumulatedFields& kept = moments.accumulated.back();
  const auto width = static_cast<int64_t>(capture_windows(collector.shape()).size());
  for (int64_t stream = 0; stream < 3; ++stream) {
    const QueryHead head = kHeads[static_cast<size_t>(stream)];
    const auto windows =
        capture_windows(collector.shape(), kConfig.layers[static_cast<size_t>(head.layer)].window);
    for (int64_t block = -1; block < kBlocks; ++block) {
      for (int64_t i = 0; i < width; ++i) {
        const auto field = [&](size_t f) {
          const at::Tensor numbers =
              block < 0 ? kept.total[f][stream] : kept.blocks[f][stream][block];
          return numbers[i].item<double>();
        };
        const bool there = i < static_cast<int64_t>(windows.size());
        const AllPairs all(run, head, block,
                           there ? windows[static_cast<size_t>(i)] : DistanceWindow{});
        EXPECT_NEAR(field(0), all.sum, 1e-6 * all.size) << block << " " << i;
        EXPECT_EQ(field(1), all.count);
      }
    }
  }
}

TEST(Lags, AreThoseOfAllPairs) { expect_all_pairs(kRun); }

// Prefix sums of keys that have much in common grow, and what is taken of them does not.
TEST(Lags, AreAsExactOfKeysWithALargeMean) {
  SmallRun run = kRun;
  run.mean = 1000;
  expect_all_pairs(run);
}

void expect_same(const CaptureMoments& found, const CaptureMoments& expected) {
  ASSERT_EQ(found.accumulated.size(), 2);
  for (size_t f = 0; f < 2; ++f) {
    const AccumulatedFields& a = found.accumulated.back();
    const AccumulatedFields& b = expected.accumulated.back();
    EXPECT_TRUE(at::allclose(a.total[f], b.total[f], 1e-12)) << f;
    EXPECT_TRUE(at::allclose(a.blocks[f].to(at::kFloat), b.blocks[f].to(at::kFloat))) << f;
  }
}

TEST(Lags, SurviveMergeResumeAndProcesses) {
  const TemporaryFolder folder;
  const CaptureMoments expected = kRun.captured(folder, kConfig, kHeads, kOptions);
  const SmallParts parts{kRun, kConfig, kHeads, kOptions,
                         [&](const CaptureMoments& found) { expect_same(found, expected); }};
  parts.expect_all(folder);
}

// A capture of an earlier version stays as it was measured, and says so.
TEST(Lags, OfEarlierVersionsAreReadAtSingleDistances) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  kRun.read(collector);
  const TemporaryFolder folder;
  CaptureMoments moments = kRun.written(folder, collector);
  moments.info.accumulators["lags"].numerics = 7;
  const CaptureShape shape = shape_of(moments.info, moments.documents, kDim);
  EXPECT_TRUE(single_distances(shape));
  EXPECT_FALSE(single_distances(collector.shape()));
  EXPECT_TRUE(lags().reads(7));
  EXPECT_FALSE(lags().reads(lags().numerics() + 1));
  const auto windows = capture_windows(shape, 50);
  EXPECT_EQ(begins(windows), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96,
                                                   128, 192, 256, 384, 512}));
  for (const DistanceWindow& window : windows) EXPECT_EQ(window.end, window.begin + 1);
  const auto fields = lags().fields(shape);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[1].name, "squares");
  AccumulatedFields& kept = moments.accumulated.back();
  kept.total.clear();
  kept.blocks.clear();
  for (const KeptField& field : fields) {
    kept.total.push_back(at::rand({3, field.width}, at::kDouble));
    kept.blocks.push_back(at::rand({3, kBlocks, field.width}, at::kFloat).to(at::kDouble));
  }
  write_moments(folder.path() / "old", moments);
  const CaptureMoments read = read_moments(folder.path() / "old");
  expect_same_moments(read, moments);
  const auto found = KeptFields::find(read, lags(), StreamKind::query);
  EXPECT_TRUE(found->total("count").equal(kept.total[2]));
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
