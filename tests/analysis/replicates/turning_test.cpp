// Compares the rotation of a mean with position, and the scaling of queries, with loops over
// tokens.
#include "ropewalk/analysis/replicates/turning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_distances.h"
#include "ropewalk/analysis/replicates/rope_source.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {
namespace {

const ModelConfig::QueryScaling kScaling{0.3, 16};
const std::vector<std::vector<int64_t>> kBlocks{{5, 700}, {33, 33}, {}, {64}};

DocumentLengths lengths() {
  DocumentLengths found;
  for (const auto& block : kBlocks) {
    found.of_block.emplace_back();
    for (const int64_t length : block) {
      ++found.all[length];
      ++found.of_block.back()[length];
    }
  }
  return found;
}

// The mean of (t - mean t) s(t) e^(i theta t) without a block.
std::complex<double> slow(double theta, bool scaled, size_t without) {
  double n = 0, sum = 0;
  for (size_t b = 0; b < kBlocks.size(); ++b) {
    for (const int64_t length : b == without ? std::vector<int64_t>{} : kBlocks[b]) {
      for (int64_t t = 0; t < length; ++t) sum += static_cast<double>(t);
      n += static_cast<double>(length);
    }
  }
  std::complex<double> found;
  for (size_t b = 0; b < kBlocks.size(); ++b) {
    for (const int64_t length : b == without ? std::vector<int64_t>{} : kBlocks[b]) {
      for (int64_t t = 0; t < length; ++t) {
        const double scale =
            scaled ? 1 + 0.3 * std::log(1 + std::floor(static_cast<double>(t) / 16)) : 1;
        found += (static_cast<double>(t) - sum / n) * scale / n *
                 std::polar(1.0, theta * static_cast<double>(t));
      }
    }
  }
  return found;
}

TEST(MeanTurn, IsThatOfAllTokens) {
  const std::vector<double> angles{1, 0.3, 1e-3, 2e-6, 0};
  const at::Tensor theta = at::tensor(angles, at::kDouble);
  const std::vector<int64_t> blocks{0, 1, 3};
  for (const bool scaled : {false, true}) {
    const RopeLayer::TurnCovariance turn =
        mean_turn(theta, lengths(), blocks, scaled ? &kScaling : nullptr);
    ASSERT_EQ(turn.real.sizes(), (std::vector<int64_t>{4, 6}));
    for (size_t row = 0; row < 4; ++row) {
      for (size_t f = 0; f < 6; ++f) {
        const double angle = f < 5 ? angles[f] : 0;
        const auto expected =
            slow(angle, scaled, row == 0 ? 99 : static_cast<size_t>(blocks[row - 1]));
        const auto i = static_cast<int64_t>(row), j = static_cast<int64_t>(f);
        const double size = 1e-9 * (std::abs(expected) + 1e-3);
        EXPECT_NEAR(turn.real[i][j].item<double>(), expected.real(), size) << row << " " << f;
        EXPECT_NEAR(turn.imaginary[i][j].item<double>(), expected.imag(), size) << row << " " << f;
        if (angle == 0 && !scaled) {
          EXPECT_EQ(turn.real[i][j].item<double>(), 0) << "exactly: nothing turns";
        }
      }
    }
  }
  // It may be unknown which documents a block holds.
  DocumentLengths all = lengths();
  all.of_block.clear();
  const RopeLayer::TurnCovariance turn = mean_turn(theta, all, blocks, nullptr);
  EXPECT_NEAR(turn.real[0][0].item<double>(), slow(1, false, 99).real(), 1e-9);
  EXPECT_TRUE(std::isnan(turn.real[1][0].item<double>()));
}

TEST(ScalingByDistance, IsTheMeanOverPairs) {
  const std::vector<double> found = scaling_by_distance(lengths().all, 710, kScaling);
  for (const int64_t distance : {0, 1, 28, 29, 60, 500, 695, 696, 709}) {
    double sum = 0, pairs = 0;
    for (const auto& block : kBlocks) {
      for (const int64_t length : block) {
        for (int64_t t = kFirstTokens + distance; t < length; ++t) {
          sum += query_scale(kScaling, t);
          pairs += 1;
        }
      }
    }
    EXPECT_NEAR(found[static_cast<size_t>(distance)], pairs > 0 ? sum / pairs : 1, 1e-9)
        << distance;
  }
}

TEST(PairsByDistance, AreCountedWithoutEachBlock) {
  DocumentLengths lengths;
  const std::vector<std::vector<int64_t>> blocks{{9, 40}, {3, 9}, {40, 40, 12}};
  for (const auto& block : blocks) {
    LengthCounts& own = lengths.of_block.emplace_back();
    for (const int64_t length : block) {
      ++own[length];
      ++lengths.all[length];
    }
  }
  const at::Tensor found = pairs_by_distance(lengths, {0, 2}, 64, 38);
  for (const auto& [row, without] : {std::pair(0, -1), {1, 0}, {2, 2}}) {
    for (int64_t distance = 0; distance < 38; ++distance) {
      int64_t pairs = 0;
      for (int b = 0; b < 3; ++b) {
        for (const int64_t length :
             b == without ? std::vector<int64_t>{} : blocks[static_cast<size_t>(b)]) {
          pairs += std::max<int64_t>(0, length - kFirstTokens - distance);
        }
      }
      EXPECT_EQ(found[row][distance].item<double>(), static_cast<double>(pairs)) << distance;
    }
  }
  // Documents of one length have the same shares whichever are left out, and so it is where nobody
  // knows which lie in which block, or how long they are.
  EXPECT_EQ(pairs_by_distance(DocumentLengths{{{40, 7}}, {{{40, 7}}}}, {0}, 64, 38).size(0), 1);
  EXPECT_EQ(pairs_by_distance(DocumentLengths{lengths.all, {}}, {0}, 64, 38).size(0), 1);
  EXPECT_EQ(pairs_by_distance({}, {0}, 64, 38)[0][10].item<double>(), 50);
}

TEST(Distances, OfScaledQueries) {
  RopeLayer layer;
  layer.theta = at::tensor({1.0, 0.01}, at::kDouble);
  layer.context = 100;
  std::vector<double> scaling(100);
  for (size_t i = 0; i < 100; ++i) scaling[i] = 1 + 0.01 * static_cast<double>(i);
  LayerDistances distances{distance_windows(100, {}, kFirstTokens), {}, 30, scaling};
  distances.pairs = pairs_by_distance({}, {}, 100, 100);
  set_distances(layer, distances);
  EXPECT_EQ(layer.windows[9], (DistanceWindow{24, 48}));
  double pairs = 0, cosine = 0, scale = 0, mean = 0;
  for (size_t i = 24; i < 48; ++i) {
    const double count = 96 - static_cast<double>(i);
    pairs += count;
    cosine += count * scaling[i] * std::cos(0.01 * static_cast<double>(i));
    scale += count * scaling[i];
    mean += count * static_cast<double>(i);
  }
  EXPECT_NEAR(layer.cosines[0][1][9].item<double>(), cosine / pairs, 1e-12);
  EXPECT_NEAR(layer.scaling[0][9].item<double>(), scale / pairs, 1e-12);
  EXPECT_NEAR(layer.distances[0][9].item<double>(), mean / pairs, 1e-12);
  EXPECT_EQ(layer.every_scaling.size(0), 30);
  EXPECT_FALSE(layer.constant());
}

CaptureMoments counted(const std::vector<int64_t>& lengths, int64_t blocks, bool known) {
  CaptureMoments moments;
  moments.counts = BlockCounts(blocks);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    moments.counts.add_document(index % blocks, lengths[i]);
    moments.documents.push_back({index, 1, 1, known ? lengths[i] : 0});
  }
  return moments;
}

TEST(DocumentLengths, AreStatedOrToldByTheCounts) {
  const auto stated = document_lengths(counted({9, 4, 7, 9}, 3, true));
  ASSERT_TRUE(stated);
  EXPECT_EQ(stated->all, (LengthCounts{{4, 1}, {7, 1}, {9, 2}}));
  EXPECT_EQ(stated->of_block[0], (LengthCounts{{9, 2}}));
  const auto told = document_lengths(counted({9, 9, 9, 9}, 3, false));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->all, (LengthCounts{{9, 4}}));
  EXPECT_EQ(told->of_block[0], (LengthCounts{{9, 2}}));
  EXPECT_FALSE(document_lengths(counted({9, 4, 7, 9}, 3, false)));
  // The same mean length from different lengths: positions show the difference.
  EXPECT_FALSE(document_lengths(counted({8, 10, 9, 10, 8, 9}, 2, false)));
  // Pieces of texts are dealt to blocks in another way: all lengths are known, but not those of a
  // block.
  CaptureMoments pieces = counted({9, 4, 7, 9}, 3, true);
  std::swap(pieces.documents[0].tokens, pieces.documents[1].tokens);
  const auto dealt = document_lengths(pieces);
  ASSERT_TRUE(dealt);
  EXPECT_EQ(dealt->all, stated->all);
  EXPECT_TRUE(dealt->of_block.empty());
  // Impossible lengths are not believed.
  CaptureMoments wrong = counted({9, 4, 7, 9}, 3, true);
  wrong.documents[0].tokens = 10;
  EXPECT_FALSE(document_lengths(wrong));
  wrong.documents[0].tokens = int64_t{1} << 50;
  EXPECT_FALSE(document_lengths(wrong));
}

}  // namespace
}  // namespace ropewalk
