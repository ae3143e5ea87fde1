// Columns and series of RoPE, each compared with loops over tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "tests/analysis/replicates/rope_head.h"
#include "tests/analysis/statistics/column_values.h"

namespace ropewalk {
namespace {

using Complex = std::complex<double>;
constexpr double kFullTurn = 2 * std::numbers::pi;

// One pair of dimensions of every token, with its position.
struct Tokens {
  std::vector<Complex> z;
  std::vector<double> t;
};
Tokens tokens_of(const std::vector<at::Tensor>& documents, const RopeLayer& layer, int64_t pair,
                 int64_t from = 0) {
  const auto i = layer.first[pair].item<int64_t>(), j = layer.second[pair].item<int64_t>();
  Tokens tokens;
  for (const at::Tensor& x : documents) {
    for (int64_t t = from; t < x.size(0); ++t) {
      tokens.z.emplace_back(x[t][i].item<double>(), x[t][j].item<double>());
      tokens.t.push_back(static_cast<double>(t));
    }
  }
  return tokens;
}

Complex mean(const std::vector<Complex>& z) {
  Complex sum;
  for (const Complex& one : z) sum += one;
  return sum / static_cast<double>(z.size());
}

double mean_square(const std::vector<Complex>& z, Complex about = 0) {
  double sum = 0;
  for (const Complex& one : z) sum += std::norm(one - about);
  return sum / static_cast<double>(z.size());
}

class RopeColumns : public testing::TestWithParam<bool> {};  // interleaved

TEST_P(RopeColumns, Bands) {
  at::manual_seed(1);
  const RopeHead made = made_rope_head(GetParam(), true);
  const HeadReplicates head = made.cases();
  const RopeLayer& layer = made.layer;
  ASSERT_GT(layer.factor, 1.1);
  for (int64_t row = 0; row <= head.blocks(); ++row) {
    for (const bool queries : {true, false}) {
      const std::string kind = queries ? "_q" : "_k";
      const auto before = chosen(queries ? made.q_before : made.k_before, row);
      const auto after = made.turned(before);
      double energies = 0, waves = 0, low = 0, concentration = 0, still = 0, all = 0;
      for (int64_t f = 0; f < layer.pairs(); ++f) {
        const double theta = layer.theta[f].item<double>();
        const Tokens seen = tokens_of(after, layer, f), own = tokens_of(before, layer, f);
        const Tokens late = tokens_of(before, layer, f, kFirstTokens);
        const double energy = mean_square(seen.z), variance = mean_square(seen.z, mean(seen.z));
        const double calm = layer.factor * layer.factor * mean_square(own.z, mean(own.z));
        double length = 0;
        for (const Complex& z : late.z) length += std::abs(z);
        const double mrl = std::abs(mean(late.z)) * static_cast<double>(late.z.size()) / length;
        EXPECT_NEAR(series_row(head, "energy" + kind, row)[f].item<double>(), energy, 1e-9);
        EXPECT_NEAR(energy, layer.factor * layer.factor * mean_square(own.z), 1e-9);
        EXPECT_NEAR(series_row(head, "rope_var" + kind, row)[f].item<double>(), 1 - calm / variance,
                    1e-9);
        EXPECT_NEAR(series_row(head, "mrl" + kind, row)[f].item<double>(), mrl, 1e-9);
        energies += energy;
        waves += energy * std::log2(kFullTurn / theta);
        low += theta * layer.context < kFullTurn ? energy : 0;
        concentration += energy * mrl;
        still += calm;
        all += variance;
      }
      EXPECT_NEAR(value(head, "band_centroid" + kind, row), waves / energies, 1e-9);
      EXPECT_NEAR(value(head, "low_share" + kind, row), low / energies, 1e-9);
      EXPECT_NEAR(value(head, "mrl" + kind, row), concentration / energies, 1e-9);
      EXPECT_NEAR(value(head, "rope_var_share" + kind, row), 1 - still / all, 1e-9);
    }
  }
  EXPECT_GT(value(head, "low_share_q"), 0);
  EXPECT_LT(value(head, "low_share_q"), 1);
}

TEST_P(RopeColumns, DriftOfTheTurningMean) {
  at::manual_seed(2);
  const RopeHead made = made_rope_head(GetParam(), true);
  const HeadReplicates head = made.cases();
  const RopeLayer& layer = made.layer;
  for (int64_t row = 0; row <= head.blocks(); ++row) {
    const auto before = chosen(made.q_before, row);
    const at::Tensor x = at::cat(made.turned(before));
    std::vector<at::Tensor> times;
    for (const at::Tensor& one : before) times.push_back(at::arange(one.size(0), at::kDouble));
    const at::Tensor t = at::cat(times) - at::cat(times).mean();
    const at::Tensor drift = at::mv((x - x.mean(0)).t(), t) / t.numel();
    at::Tensor predicted = at::zeros_like(drift);
    for (int64_t f = 0; f < layer.pairs(); ++f) {
      const Tokens own = tokens_of(before, layer, f);
      Complex sum;
      for (size_t i = 0; i < own.t.size(); ++i) {
        sum += t[static_cast<int64_t>(i)].item<double>() *
               std::polar(layer.factor, layer.theta[f].item<double>() * own.t[i]);
      }
      const Complex turned = mean(own.z) * sum / static_cast<double>(own.t.size());
      predicted[layer.first[f].item<int64_t>()] = turned.real();
      predicted[layer.second[f].item<int64_t>()] = turned.imag();
    }
    const double both = drift.dot(predicted).item<double>();
    const double size = drift.norm().item<double>();
    EXPECT_NEAR(value(head, "drift_rope_cos_q", row), both / size / predicted.norm().item<double>(),
                1e-9);
    EXPECT_NEAR(value(head, "drift_rope_share_q", row), both / size / size, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, RopeColumns, testing::Bool());

TEST(RopeColumns, NothingTurnsWithoutRope) {
  at::manual_seed(5);
  const HeadReplicates head = made_rope_head(false, false).cases();
  for (const char* key : {"rope_var_share_q", "drift_rope_share_k"}) {
    EXPECT_EQ(value(head, key), 0) << key;
  }
  for (const char* key :
       {"band_centroid_q", "low_share_k", "drift_rope_cos_q", "dist_argmax", "dist_range",
        "dist_near", "dist_reach", "dist_r", "dist_content", "dist_context"}) {
    EXPECT_TRUE(std::isnan(value(head, key))) << key;
  }
  EXPECT_GT(value(head, "mrl_q"), 0.5);
  const at::Tensor curve = series_row(head, "dist_pred");
  EXPECT_TRUE(at::allclose(curve, curve[0])) << "the same logit at every distance";
  EXPECT_TRUE(series_row(head, "rope_var_q").equal(at::zeros({3}, at::kDouble)));
  CheckpointTable checkpoint;
  add_head(checkpoint, {0, 0, 0, false}, head, {96, 60, 6, 82, 96});
  EXPECT_NE(checkpoint.head_flag[0].find("nope"), std::string::npos);
  EXPECT_NE(checkpoint.head_flag[0].find("no_distance"), std::string::npos);
}

TEST(Series, ErrorsAndMeansOverHeads) {
  at::manual_seed(6);
  const std::vector<double> sizes{96, 60, 6, 82, 96};
  CheckpointTable all;
  std::vector<HeadReplicates> heads;
  for (int i = 0; i < 4; ++i) {
    heads.push_back(made_rope_head(false, i < 3).cases());
    CheckpointTable part;
    add_head(part, {i, 0, 0, i < 3}, heads.back(), sizes);
    append_heads(all, part);
  }
  finish_series(all);
  const HeadSeries& energy = all.series[series_index("energy_q")];
  EXPECT_EQ(all.grids.size(), 3);  // angles, no angles, distances
  ASSERT_EQ(energy.heads(), 4);
  const auto error = [&](const at::Tensor& cases, int64_t point) {
    const at::Tensor column = cases.select(1, point).contiguous();
    const double* data = column.const_data_ptr<double>();
    return jackknife_se(data[0], {data + 1, 5}, sizes);
  };
  const auto computed = [&](const char* key, size_t head) {
    return series()[series_index(key)]->compute(heads[head]);
  };
  for (size_t head = 0; head < 4; ++head) {
    for (size_t f = 0; f < 3; ++f) {
      const auto point = static_cast<int64_t>(f);
      const at::Tensor cases = computed("energy_q", head);
      EXPECT_EQ(energy.values(head)[f], cases[0][point].item<double>());
      EXPECT_NEAR(energy.errors(head)[f], error(cases, point), 1e-12);
      EXPECT_EQ(series_points(all, series_index("energy_q"), head).x[f] > 0, head < 3);
    }
  }
  // Energy over RoPE heads only; curves also over NoPE heads and over all.
  ASSERT_EQ(energy.means.size(), 1);
  const at::Tensor mean =
      (computed("energy_q", 0) + computed("energy_q", 1) + computed("energy_q", 2)) / 3;
  EXPECT_EQ(energy.means[0].heads, std::vector<int64_t>(3, 3));
  EXPECT_NEAR(energy.means[0].value[1], mean[0][1].item<double>(), 1e-12);
  EXPECT_NEAR(energy.means[0].se[1], error(mean, 1), 1e-9);
  const HeadSeries& curve = all.series[series_index("dist_pred")];
  ASSERT_EQ(curve.means.size(), 3);
  EXPECT_EQ(curve.means[0].rope, 1);
  EXPECT_EQ(curve.means[1].rope, 0);
  EXPECT_EQ(curve.means[2].rope, SeriesMean::kAll);
  EXPECT_EQ(curve.means[2].heads[0], 4);
  EXPECT_NEAR(curve.means[2].value[2], (3 * curve.means[0].value[2] + curve.means[1].value[2]) / 4,
              1e-12);
}

}  // namespace
}  // namespace ropewalk
