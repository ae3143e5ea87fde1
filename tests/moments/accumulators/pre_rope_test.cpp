// Compares sums before RoPE with sums over all tokens in float64.
#include "ropewalk/moments/accumulators/pre_rope.h"

#include <gtest/gtest.h>

#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int64_t kBlocks = 3;
// The mean is a thousand times the spread.
const SmallRun kRun{{20, 2, 700, 4, 5, 33, 9}, kDim, 1000, 0, true};
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 0}};  // KV heads 0 and 1, and 0

ModelConfig config(int64_t rotary_dim, bool interleaved) {
  ModelConfig made = small_config(2, kDim);
  RopeSettings rope;
  rope.rotary_dim = rotary_dim;
  rope.interleaved = interleaved;
  made.ropes = {rope};
  made.layers[1].rope = false;  // the layer has no RoPE, but its pairs are treated as if it had
  return made;
}

const CollectorOptions kOptions{.blocks = kBlocks, .keep = {.pre_rope = true}};

// The fields of queries, then of keys, in their order.
std::vector<at::Tensor> totals(const CaptureMoments& moments) {
  EXPECT_EQ(moments.accumulated.size(), 2);
  return moments.accumulated.back().total;
}

struct Pairs {
  int64_t dim;
  bool interleaved;
};
class PreRopeSums : public testing::TestWithParam<Pairs> {};

TEST_P(PreRopeSums, AreThoseOfAllTokens) {
  const auto [dim, interleaved] = GetParam();
  const ModelConfig made = config(dim, interleaved);
  MomentsCollector collector(made, kHeads, kOptions);
  kRun.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = kRun.written(folder, collector);
  const AccumulatedFields& kept = moments.accumulated.back();
  EXPECT_EQ(names_of(moments.info.accumulators), std::vector<std::string>{"pre_rope"});
  const at::Tensor half = at::triu_indices(kDim, kDim);
  const auto near = [](const at::Tensor& found, const at::Tensor& expected) {
    return at::allclose(found.to(at::kDouble), expected, 1e-7, 1e-9);
  };
  for (int64_t block = -1; block < kBlocks; ++block) {  // -1: all
    std::vector<at::Tensor> early;
    std::vector<at::Tensor> late;
    for (int64_t i = std::max<int64_t>(block, 0); i < 7; i += block < 0 ? 1 : kBlocks) {
      const at::Tensor x = kRun.vectors(i, 1, 4)[0].to(at::kDouble);  // of layer 1, query head 0
      early.push_back(x.slice(0, 0, 4));
      late.push_back(x.slice(0, 4));
    }
    const auto field = [&](size_t f) {
      return block < 0 ? kept.total[f][2] : kept.blocks[f][2][block];
    };
    EXPECT_EQ(field(0).item<double>(), static_cast<double>(at::cat(early).size(0)));
    for (const bool first : {false, true}) {
      const at::Tensor x = at::cat(first ? early : late);
      const size_t f = first ? 5 : 1;
      EXPECT_TRUE(near(field(f), x.sum(0)));
      EXPECT_TRUE(near(field(f + 1), x.square().sum(0)));
      if (first) continue;
      const at::Tensor pairs = at::zeros({kDim / 2}, at::kDouble);
      const at::Tensor moduli = at::zeros({kDim / 2}, at::kDouble);
      for (int64_t p = 0; p < dim / 2; ++p) {
        const at::Tensor a = x.select(1, interleaved ? 2 * p : p);
        const at::Tensor b = x.select(1, interleaved ? 2 * p + 1 : p + dim / 2);
        pairs[p] = (a * b).sum();
        moduli[p] = (a.square() + b.square()).sqrt().sum();
      }
      EXPECT_TRUE(near(field(f + 2), pairs)) << field(f + 2) << pairs;
      EXPECT_TRUE(near(field(f + 3), moduli)) << field(f + 3) << moduli;
    }
    if (block >= 0) continue;
    const at::Tensor x = at::cat(late);
    const auto n = static_cast<double>(x.size(0));
    // The spread that remains after subtracting large sums.
    const at::Tensor variance = field(2) / n - (field(1) / n).square();
    EXPECT_TRUE(at::allclose(variance, x.var(0, false), 1e-6, 0));
    const at::Tensor mean = field(1) / n;
    const at::Tensor covariance = field(7) / n - at::outer(mean, mean).index({half[0], half[1]});
    const at::Tensor centred = x - x.mean(0);
    const at::Tensor expected = (at::mm(centred.t(), centred) / n).index({half[0], half[1]});
    EXPECT_TRUE(at::allclose(covariance, expected, 0, 1e-6));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PreRopeSums,
                         testing::Values(Pairs{6, false}, Pairs{6, true}, Pairs{4, false},
                                         Pairs{4, true}));

void expect_same(const CaptureMoments& found, const CaptureMoments& expected) {
  ASSERT_EQ(totals(found).size(), 16);
  for (size_t f = 0; f < 16; ++f) {
    EXPECT_TRUE(at::allclose(totals(found)[f], totals(expected)[f], 1e-12)) << f;
    EXPECT_TRUE(at::allclose(found.accumulated.back().blocks[f].to(at::kFloat),
                             expected.accumulated.back().blocks[f].to(at::kFloat)));
  }
}

TEST(PreRope, SurvivesMergeResumeAndProcesses) {
  const ModelConfig made = config(4, true);
  const TemporaryFolder folder;
  const CaptureMoments expected = kRun.captured(folder, made, kHeads, kOptions);
  const SmallParts parts{kRun, made, kHeads, kOptions,
                         [&](const CaptureMoments& found) { expect_same(found, expected); }};
  parts.expect_all(folder);
}

TEST(PreRope, IsDroppedWhereOneOfTwoLacksIt) {
  const ModelConfig made = config(6, false);
  const TemporaryFolder folder;
  MomentsCollector with(made, kHeads, kOptions);
  MomentsCollector without(made, kHeads, {.blocks = kBlocks});
  kRun.read(with, 0, 2);
  SmallRun after = kRun;
  after.before_rope = false;
  after.read(without, 1, 2);
  CaptureMoments merged = kRun.written(folder, with, 0, 2);
  join_capture(merged, kRun.written(folder, without, 1, 2));
  EXPECT_EQ(merged.accumulated.size(), 1);
  EXPECT_TRUE(merged.info.accumulators.empty());
}

// Positions need not begin at 0, nor be in order.
TEST(PreRope, GoesByPositions) {
  const ModelConfig made = config(6, false);
  MomentsCollector collector(made, {{0, 0}}, {.blocks = 1, .keep = {.pre_rope = true}});
  Document document;
  const Positions positions(at::tensor({7, 0, 1, 9, 3, 4}, at::kLong));
  const at::Tensor x = at::randn({4, 6, kDim});
  const at::Tensor y = at::randn({2, 6, kDim});
  collector.on_vectors({0, &document, &positions, kPreRope, {{"q", x}, {"k", y}}});
  const auto& fields = collector.layers().at(0).fields.at(1);
  const at::Tensor wide = x[0].to(at::kDouble);
  EXPECT_EQ(fields[0].item<double>(), 3);
  EXPECT_TRUE(at::allclose(fields[1][0][0], wide[0] + wide[3] + wide[5], 1e-6, 1e-6));
  EXPECT_TRUE(at::allclose(fields[5][0][0], wide[1] + wide[2] + wide[4], 1e-6, 1e-6));
}

TEST(PreRope, MakesAFileGrowByAQuarterAtMost) {
  const TemporaryFolder folder;
  const auto size = [&](int64_t d, bool pre_rope) {
    const ModelConfig made = small_config(2, d);
    MomentsCollector collector(made, {{0, 0}, {0, 1}, {1, 2}},
                               {.blocks = 16, .keep = {.pre_rope = pre_rope}});
    write_moments(folder.path() / "file", collector, {}, {});
    return static_cast<double>(std::filesystem::file_size(folder.path() / "file"));
  };
  for (const int64_t d : {64, 128}) {
    EXPECT_LE(size(d, true), 1.25 * size(d, false)) << d;
    EXPECT_GT(size(d, true), size(d, false)) << d;
  }
}

}  // namespace
}  // namespace ropewalk
