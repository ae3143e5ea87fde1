// Logits by distance against all pairs of tokens, in float64.
#include "ropewalk/moments/accumulators/lags.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/lags.h"
#include "ropewalk/moments/merge.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/moments/moments_state.h"
#include "tests/moments/small_config.h"
#include "tests/moments/taken.h"
#include "tests/temporary_folder.h"
#include "tests/thread_job.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 20;  // not a multiple of what is added side by side
constexpr int64_t kBlocks = 3;
constexpr int64_t kContext = 700;
const std::vector<int64_t> kLengths{20, 2, 700, 4, 5, 33, 600};  // tokens of documents
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};     // KV heads 0 and 1, and 1

at::Tensor vectors(int64_t document, int64_t layer, int64_t heads) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(
      static_cast<uint64_t>(1000 * document + 10 * layer + heads));
  return at::randn({heads, kLengths[static_cast<size_t>(document)], kDim}, generator) + 2;
}

std::vector<Document> documents() {
  std::vector<Document> all(kLengths.size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].index = static_cast<int64_t>(i);
    all[i].tokens.assign(static_cast<size_t>(kLengths[i]), static_cast<int32_t>(i));
    all[i].set_digests();
  }
  return all;
}

const ModelConfig kConfig = small_config(2, kDim);
const CollectorOptions kOptions{.blocks = kBlocks, .context = kContext};

// Every `step`-th document before `end`, through all layers.
void read(MomentsCollector& collector, int64_t first = 0, int64_t step = 1, int64_t end = 7) {
  const std::vector<Document> all = documents();
  for (const auto& [layer, streams] : collector.streams()) {
    for (int64_t i = first; i < end; i += step) {
      const Positions positions = Positions::counted(kLengths[static_cast<size_t>(i)]);
      collector.collect(taken(layer, all[static_cast<size_t>(i)], positions, vectors(i, layer, 4),
                              vectors(i, layer, 2)));
    }
  }
}

CaptureMoments written(const TemporaryFolder& folder, const MomentsCollector& collector,
                       int64_t first = 0, int64_t step = 1) {
  std::vector<DocumentRecord> records;
  for (int64_t i = first; i < 7; i += step) records.push_back({i, static_cast<uint64_t>(i), 1});
  CaptureInfo info;
  info.context = kContext;
  info.point = kPostRope;
  info.kept = kept_names(collector.shape());
  write_moments(folder.path() / "file", collector, info, records);
  return read_moments(folder.path() / "file");
}

TEST(Lags, AreSpacedByRatios) {
  EXPECT_EQ(lags_below(33), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}));
  EXPECT_EQ(lags_below(6), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(lags_below(2), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(lags_below(0).empty());
  EXPECT_TRUE(lags_below(-4).empty());
  EXPECT_TRUE(capture_lags({kDim, kPreRope, false, kContext}).empty());
  EXPECT_EQ(capture_lags({kDim, kPostRope, false, kContext}).back(), 512);
}

TEST(Lags, AreThoseOfAllPairs) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = written(folder, collector);
  EXPECT_EQ(moments.info.kept, std::vector<std::string>{"lags"});
  ASSERT_EQ(moments.accumulated.size(), 2);
  const Accumulated& kept = moments.accumulated.back();
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
          const int64_t tokens = kLengths[static_cast<size_t>(document)];
          if (tokens - 4 <= lags[i]) continue;
          const at::Tensor q = vectors(document, head.layer, 4)[head.q_head].to(at::kDouble);
          const at::Tensor k = vectors(document, head.layer, 2)[head.q_head / 2].to(at::kDouble);
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
    const Accumulated& a = found.accumulated.back();
    const Accumulated& b = expected.accumulated.back();
    EXPECT_TRUE(at::allclose(a.total[f], b.total[f], 1e-12)) << f;
    EXPECT_TRUE(at::allclose(a.blocks[f].to(at::kFloat), b.blocks[f].to(at::kFloat))) << f;
  }
}

TEST(Lags, SurviveMergeResumeAndProcesses) {
  const TemporaryFolder folder;
  MomentsCollector whole(kConfig, kHeads, kOptions);
  read(whole);
  const CaptureMoments expected = written(folder, whole);

  MomentsCollector even(kConfig, kHeads, kOptions);
  MomentsCollector odd(kConfig, kHeads, kOptions);
  read(even, 0, 2);
  read(odd, 1, 2);
  CaptureMoments merged = written(folder, even, 0, 2);
  join_capture(merged, written(folder, odd, 1, 2));
  expect_same(merged, expected);

  const std::vector<Document> all = documents();
  MomentsCollector first(kConfig, kHeads, kOptions);
  read(first, 0, 1, 3);
  save_state(folder.path() / "state", first, {{{"a", 1}}, 3, 0}, std::span(all).first(3));
  MomentsCollector second(kConfig, kHeads, kOptions);
  ASSERT_EQ(restore_state(folder.path() / "state", second, {{"a", 1}}, all), 3);
  read(second, 3);
  expect_same(written(folder, second), expected);

  ThreadJob(3).run([&](const Communicator& processes) {
    MomentsCollector part(kConfig, kHeads, kOptions);
    read(part, processes.rank(), processes.count());
    part.join_in_first(processes);
    if (processes.first()) expect_same(written(folder, part), expected);
  });
}

TEST(Lags, WantPositionsThatFollowEachOther) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  const Document document;
  const at::Tensor q = at::randn({4, 8, kDim});
  const at::Tensor k = at::randn({2, 8, kDim});
  const Positions packed(at::tensor({0, 1, 2, 3, 4, 5, 0, 1}, at::kLong));
  EXPECT_THROW(collector.collect(taken(0, document, packed, q, k)), UsageError);
}

}  // namespace
}  // namespace ropewalk
