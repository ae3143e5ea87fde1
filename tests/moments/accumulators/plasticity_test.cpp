// The sample of queries and keys from which plasticity is computed.
#include "ropewalk/moments/accumulators/plasticity.h"

#include <gtest/gtest.h>

#include <set>

#include "ropewalk/moments/files/kept_fields.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int64_t kBlocks = 3;
constexpr int64_t kContext = 100;  // not a multiple of 16
const SmallRun kRun{{100, 3, 50, 100, 31, 99, 100}, kDim, 2, kContext, false, true};
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};  // KV heads 0 and 1, and 1

const ModelConfig kConfig = small_config(2, kDim);
const CollectorOptions kOptions{.blocks = kBlocks,
                                .keep = {.pre_rope = false, .plasticity = true, .rows = {}},
                                .context = kContext,
                                .documents = 7};

at::Tensor field(const CaptureMoments& moments, StreamKind kind, const char* name) {
  return KeptFields::find(moments, plasticity(), kind)->total(name);
}

TEST(PlasticitySample, BucketsAreOfOneWidthWithoutTheFirstTokens) {
  int64_t before = 4;
  for (int64_t b = 0; b < kPlasticityBuckets; ++b) {
    const PositionBucket bucket = plasticity_bucket(b, kContext);
    EXPECT_EQ(bucket.begin, before);
    EXPECT_EQ(bucket.end, (b + 1) * kContext / 16);
    before = bucket.end;
  }
  EXPECT_EQ(before, kContext);
  for (int64_t b = 0; b < 4; ++b) {  // one token each, of documents that are left out
    EXPECT_EQ(plasticity_bucket(b, 16).begin, plasticity_bucket(b, 16).end);
    EXPECT_EQ(plasticity_token(0, b, 16, 16), -1);
  }
  EXPECT_EQ(plasticity_token(0, 5, 16, 16), 5);
  EXPECT_EQ(plasticity_slots(0), 0);
  EXPECT_EQ(plasticity_slots(7), 7);
  EXPECT_EQ(plasticity_slots(100000), 256);
}

// tests/golden/plasticity_reference.py draws the same tokens.
TEST(PlasticitySample, TokensAreSeededByDocumentAndBucket) {
  EXPECT_EQ(plasticity_token(0, 0, 4096, 4096), 4 + 0xe220a8397b1dcdaf % 252);
  std::set<int64_t> offsets;
  for (int64_t document = 0; document < 40; ++document) {
    for (int64_t b = 0; b < kPlasticityBuckets; ++b) {
      const PositionBucket bucket = plasticity_bucket(b, 4096);
      const int64_t token = plasticity_token(document, b, 4096, 4096);
      EXPECT_GE(token, bucket.begin);
      EXPECT_LT(token, bucket.end);
      EXPECT_EQ(plasticity_token(document, b, 4096, token + 1), token);
      EXPECT_EQ(plasticity_token(document, b, 4096, token), -1) << "the document ends before it";
      offsets.insert(token - bucket.begin);
    }
  }
  EXPECT_GT(offsets.size(), 220) << "all of a bucket's tokens are drawn";
}

TEST(PlasticitySample, PairsAreAllOrSomeOfThem) {
  EXPECT_TRUE(plasticity_pairs(3, 2, 1).empty());
  EXPECT_EQ(plasticity_pairs(3, 3, 3), (std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(plasticity_pairs(3, 11, 11).size(), 55);
  std::set<std::pair<int, int>> seen;
  for (int64_t document = 0; document < 30; ++document) {
    const auto pairs = plasticity_pairs(document, 15, 15);
    const std::set<std::pair<int, int>> once(pairs.begin(), pairs.end());
    EXPECT_EQ(once.size(), 64);
    for (const auto& [i, j] : once) EXPECT_TRUE(0 <= i && i < j && j < 15);
    seen.insert(once.begin(), once.end());
  }
  EXPECT_EQ(seen.size(), 105);
  EXPECT_NE(plasticity_pairs(0, 15, 15), plasticity_pairs(1, 15, 15));
}

TEST(PlasticityAccumulator, KeepsOneTokenOfEachBucket) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  kRun.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = kRun.written(folder, collector);
  EXPECT_EQ(names_of(moments.info.accumulators), (std::vector<std::string>{"lags", "plasticity"}));
  int64_t missing = 0;
  for (int64_t stream = 0; stream < 3; ++stream) {
    const QueryHead head = kHeads[static_cast<size_t>(stream)];
    const auto sample = [&](StreamKind kind) {
      const at::Tensor all = field(moments, kind, "sample");
      EXPECT_EQ(all.scalar_type(), at::kHalf);
      return all[stream].view({7, kPlasticityBuckets, kDim}).to(at::kFloat);
    };
    const at::Tensor q = sample(StreamKind::query), k = sample(StreamKind::key);
    const at::Tensor position = field(moments, StreamKind::key, "position")[stream];
    const at::Tensor block = field(moments, StreamKind::key, "block")[stream];
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_EQ(block[i].item<double>(), static_cast<double>(i / 2 % kBlocks + 1));
      for (int64_t b = 0; b < kPlasticityBuckets; ++b) {
        const int64_t token =
            plasticity_token(i, b, kContext, kRun.lengths[static_cast<size_t>(i)]);
        EXPECT_EQ(position[i * kPlasticityBuckets + b].item<double>(),
                  static_cast<double>(token + 1));
        missing += token < 0 ? 1 : 0;
        const auto expected = [&](int64_t heads, int64_t number) {
          return token < 0 ? at::zeros({kDim})
                           : kRun.vectors(i, head.layer, heads)[number][token].to(at::kHalf).to(
                                 at::kFloat);
        };
        EXPECT_TRUE(q[i][b].equal(expected(4, head.q_head)));
        EXPECT_TRUE(k[i][b].equal(expected(2, head.q_head / 2)));
      }
    }
  }
  EXPECT_GT(missing, 3 * 20) << "short documents lack their last buckets";
}

TEST(PlasticityAccumulator, LeavesLaterDocumentsOut) {
  CollectorOptions options = kOptions;
  options.documents = 2;
  MomentsCollector collector(kConfig, kHeads, options);
  kRun.read(collector);
  EXPECT_EQ(collector.layers().at(0).fields[3].back().sizes().vec(),
            (std::vector<int64_t>{2, 1, 2}));
  MomentsCollector none(kConfig, kHeads, {.blocks = kBlocks, .context = kContext});
  kRun.read(none);
  EXPECT_TRUE(none.layers().at(0).fields[3].empty());
  EXPECT_TRUE(plasticity().fields({kDim, kPreRope, keep_everything(), kContext, 7}).empty());
}

TEST(PlasticityAccumulator, KeepsFloat32WhatFloat16DoesNotHold) {
  const at::Tensor plain = at::randn({4, kContext, kDim});
  for (const double scale : {1.0, 1e6, 1e-7}) {
    MomentsCollector collector(kConfig, {{0, 1}}, kOptions);
    const Document document = kRun.documents().front();
    collector.on_vectors(
        taken(0, document, Positions::counted(kContext), plain * scale, plain.slice(0, 0, 2)));
    const TemporaryFolder folder;
    const CaptureMoments moments = kRun.written(folder, collector, 0, 1, 1);
    const at::Tensor q = field(moments, StreamKind::query, "sample");
    EXPECT_EQ(q.scalar_type(), scale == 1.0 ? at::kHalf : at::kFloat);
    EXPECT_EQ(field(moments, StreamKind::key, "sample").scalar_type(), at::kHalf);
    const int64_t token = plasticity_token(0, 3, kContext, kContext);
    const at::Tensor expected = (plain * scale)[1][token];
    EXPECT_TRUE(q[0].view({1, kPlasticityBuckets, kDim})[0][3]
                    .to(at::kFloat)
                    .equal(scale == 1.0 ? expected.to(at::kHalf).to(at::kFloat) : expected));
  }
}

void expect_same(const CaptureMoments& found, const CaptureMoments& expected) {
  EXPECT_EQ(found.info.accumulators, expected.info.accumulators);
  const AccumulatedFields& a = found.accumulated.back();
  const AccumulatedFields& b = expected.accumulated.back();
  ASSERT_EQ(a.accumulator, &plasticity());
  for (size_t f = 0; f < 4; ++f) EXPECT_TRUE(a.total[f].equal(b.total[f])) << f;
}

TEST(PlasticityAccumulator, SurvivesMergeResumeAndProcesses) {
  const TemporaryFolder folder;
  const CaptureMoments expected = kRun.captured(folder, kConfig, kHeads, kOptions);
  const SmallParts parts{kRun, kConfig, kHeads, kOptions,
                         [&](const CaptureMoments& found) { expect_same(found, expected); }};

  // Parts with room for a different number of documents.
  CollectorOptions narrow = kOptions;
  narrow.documents = 6;
  MomentsCollector odd(kConfig, kHeads, narrow);
  kRun.read(odd, 1, 2);
  EXPECT_EQ(field(kRun.written(folder, odd, 1, 2), StreamKind::key, "block").size(1), 6);
  parts.expect_merged(folder, narrow);

  parts.expect_resumed(folder);
  MomentsCollector other(kConfig, kHeads, narrow);
  EXPECT_EQ(restore_state(folder.path() / "state", other, {{"a", 1}}, kRun.documents()), 0)
      << "it has room for another number of documents";

  parts.expect_joined(folder);
}

TEST(PlasticityAccumulator, AFileHasRoomForWhatWasRead) {
  const TemporaryFolder folder;
  MomentsCollector planned(kConfig, kHeads, kOptions);
  kRun.read(planned, 0, 1, 4);  // and stopped there
  CollectorOptions options = kOptions;
  options.documents = 4;
  MomentsCollector exact(kConfig, kHeads, options);
  kRun.read(exact, 0, 1, 4);
  const CaptureMoments stopped = kRun.written(folder, planned, 0, 1, 4);
  EXPECT_EQ(field(stopped, StreamKind::key, "block").size(1), 4);
  expect_same(stopped, kRun.written(folder, exact, 0, 1, 4));
}

TEST(PlasticityAccumulator, ASumLacksWhatAPartLacks) {
  const TemporaryFolder folder;
  MomentsCollector with(kConfig, kHeads, kOptions);
  CollectorOptions less = kOptions;
  less.keep.plasticity = false;
  MomentsCollector without(kConfig, kHeads, less);
  kRun.read(with, 0, 2);
  kRun.read(without, 1, 2);
  CaptureMoments merged = kRun.written(folder, with, 0, 2);
  join_capture(merged, kRun.written(folder, without, 1, 2));
  EXPECT_EQ(names_of(merged.info.accumulators), std::vector<std::string>{"lags"});
  EXPECT_FALSE(KeptFields::find(merged, plasticity(), StreamKind::key));
}

}  // namespace
}  // namespace ropewalk
