// Statistics of heads.csv, each against a computation that takes the long way.

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/math/updated_axis.h"
#include "ropewalk/analysis/replicates/drift_axis.h"
#include "ropewalk/analysis/replicates/position_fit.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int kDocuments = 5;

// Documents whose vectors drift with position along one direction.
std::vector<at::Tensor> documents(double drift, double mean, int64_t dimensions = kDim) {
  std::vector<at::Tensor> list;
  const at::Tensor direction = at::randn({dimensions}, at::kDouble);
  for (int i = 0; i < kDocuments; ++i) {
    const int64_t n = 30 + 7 * i;
    const at::Tensor t = at::arange(n, at::kDouble).unsqueeze(1) / 30 - 0.5;
    const at::Tensor scales = at::pow(0.8, at::arange(dimensions, at::kDouble));
    list.push_back(at::randn({n, dimensions}, at::kDouble) * scales + drift * t * direction + mean);
  }
  return list;
}

at::Tensor positions(const std::vector<at::Tensor>& list, int without = -1, int other = -1) {
  std::vector<at::Tensor> parts;
  for (int i = 0; i < kDocuments; ++i) {
    if (i == without || i == other) continue;
    parts.push_back(at::arange(list[static_cast<size_t>(i)].size(0), at::kDouble));
  }
  return at::cat(parts);
}

at::Tensor vectors(const std::vector<at::Tensor>& list, int without = -1, int other = -1) {
  std::vector<at::Tensor> parts;
  for (int i = 0; i < kDocuments; ++i) {
    if (i != without && i != other) parts.push_back(list[static_cast<size_t>(i)]);
  }
  return at::cat(parts);
}

HeadReplicates head_of(const std::vector<at::Tensor>& q, const std::vector<at::Tensor>& k,
                       const LogitUnits& units = {0.5, 58}) {
  return make_replicates(leave_one_out(stream_input(q)), leave_one_out(stream_input(k)), 2, units);
}

double value(const HeadReplicates& head, const char* key, int64_t row = 0) {
  const Statistic& statistic = *statistics()[statistic_index(key)];
  return statistic.compute(head)[row][statistic.member].item<double>();
}

// Least squares with a constant: weights, then the constant.
at::Tensor regress(const at::Tensor& x, const at::Tensor& t) {
  const at::Tensor with_one = at::cat({x, at::ones({x.size(0), 1}, at::kDouble)}, 1);
  return at::linalg_solve(at::mm(with_one.t(), with_one), at::mv(with_one.t(), t));
}

at::Tensor predict(const at::Tensor& x, const at::Tensor& fit) {
  return at::mv(x, fit.slice(0, 0, x.size(1))) + fit[-1];
}

// R² of position without document `b`, each other document predicted from the rest.
double cross_validated_r2(const std::vector<at::Tensor>& list, int b) {
  double error = 0, plain = 0;
  for (int g = 0; g < kDocuments; ++g) {
    if (g == b) continue;
    const at::Tensor& held = list[static_cast<size_t>(g)];
    const at::Tensor held_t = at::arange(held.size(0), at::kDouble);
    const at::Tensor others = positions(list, b, g);
    const at::Tensor miss = held_t - predict(held, regress(vectors(list, b, g), others));
    error += miss.square().sum().item<double>();
    plain += (held_t - others.mean()).square().sum().item<double>();
  }
  return 1 - error / plain;
}

TEST(PositionFit, IsTheRegressionOfPositionAndItsCrossValidation) {
  at::manual_seed(1);
  const auto list = documents(0.7, 3);
  const PositionFit fit = position_fit(leave_one_out(stream_input(list)));
  for (int b = -1; b < kDocuments; ++b) {
    const at::Tensor x = vectors(list, b), t = positions(list, b);
    const at::Tensor rest = t - predict(x, regress(x, t));
    const double r2 = 1 - (rest.square().sum() / (t - t.mean()).square().sum()).item<double>();
    EXPECT_NEAR(fit.r2[b + 1].item<double>(), r2, b < 0 ? 1e-10 : 1e-6) << b;
    EXPECT_NEAR(fit.r2_cv[b + 1].item<double>(), cross_validated_r2(list, b), 1e-5) << b;
  }
  EXPECT_FALSE(fit.dropped);
}

TEST(PositionFit, LeavesOutDirectionsWithoutVariance) {
  at::manual_seed(2);
  auto list = documents(0.7, 0);
  const PositionFit whole = position_fit(leave_one_out(stream_input(list)));
  for (at::Tensor& x : list) x = at::cat({x, x.slice(1, 0, 2)}, 1);  // the same said twice
  const PositionFit fit = position_fit(leave_one_out(stream_input(list)));
  EXPECT_TRUE(fit.dropped);
  EXPECT_NEAR(fit.r2[0].item<double>(), whole.r2[0].item<double>(), 1e-6);
  EXPECT_NEAR(fit.r2_cv[0].item<double>(), whole.r2_cv[0].item<double>(), 1e-4);
  // One block has nothing to be predicted by.
  const PositionFit one = position_fit(leave_one_out(stream_input({list[0]})));
  EXPECT_TRUE(std::isnan(one.r2_cv[0].item<double>()));
}

// Where what is left says little, fits without one block are a poor beginning for those without
// two.
TEST(PositionFit, HardlyMoreTokensThanDimensions) {
  at::manual_seed(5);
  std::vector<at::Tensor> list;
  constexpr int64_t kWide = 9;
  for (int i = 0; i < kDocuments; ++i) {
    const at::Tensor t = at::arange(4 + i, at::kDouble).unsqueeze(1);
    list.push_back(at::randn({4 + i, kWide}, at::kDouble) + 0.3 * t);
  }
  const PositionFit fit = position_fit(leave_one_out(stream_input(list)));
  for (int b = -1; b < kDocuments; ++b) {
    EXPECT_NEAR(fit.r2_cv[b + 1].item<double>() / cross_validated_r2(list, b), 1, 1e-4) << b;
  }
}

TEST(UpdatedAxis, IsTheTopOfTheWholeProblem) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({4, 50, kDim}, at::kDouble);
  const at::Tensor c = at::bmm(x.transpose(1, 2), x);
  auto [values, basis] = at::linalg_eigh(c);
  const at::Tensor u = at::randn({4, kDim}, at::kDouble) * 4;
  at::Tensor a = at::randn({4, kDim}, at::kDouble);
  a = a / a.norm(2, 1, true);
  for (const double sign : {-1.0, 1.0}) {
    for (const bool plane : {false, true}) {
      for (const double size : {1.0, 0.0}) {  // without an update: the top of C itself
        const auto turned = [&, basis = basis](const at::Tensor& rows) {
          return at::bmm(rows.unsqueeze(1), basis).squeeze(1);
        };
        UpdatedAxis found =
            updated_axis(values, turned(u * size), sign, plane ? turned(a) : at::Tensor());
        found.vectors = at::bmm(basis, found.vectors.unsqueeze(2)).squeeze(2);
        for (int64_t i = 0; i < 4; ++i) {
          at::Tensor matrix = c[i] + sign * size * at::outer(u[i], u[i]);
          const at::Tensor away = at::eye(kDim, at::kDouble) - at::outer(a[i], a[i]);
          if (plane) matrix = away.mm(matrix).mm(away);
          auto [all, tops] = at::linalg_eigh(matrix);
          EXPECT_NEAR(found.values[i].item<double>(), all[-1].item<double>(), 1e-8);
          EXPECT_NEAR(std::abs(tops.select(1, -1).dot(found.vectors[i]).item<double>()), 1, 1e-9);
        }
      }
    }
  }
}

TEST(HeadStatistics, PartsOfPc0AddToOneAndFollowTheOffset) {
  at::manual_seed(5);
  const HeadReplicates apart = head_of(documents(0, 9), documents(0, -9));
  EXPECT_GT(value(apart, "pc0_offset"), 0.95);
  const HeadReplicates drifting = head_of(documents(9, 0), documents(0, 0));
  EXPECT_GT(value(drifting, "pc0_pos_q"), 0.8);
  for (const HeadReplicates* head : {&apart, &drifting}) {
    for (int64_t row = 0; row <= kDocuments; ++row) {
      EXPECT_NEAR(value(*head, "pc0_offset", row) + value(*head, "pc0_pos_q", row) +
                      value(*head, "pc0_pos_k", row) + value(*head, "pc0_content", row),
                  1, 1e-12);
    }
  }
  // Without the offset, what drifts is seen.
  const HeadReplicates both = head_of(documents(2, 30), documents(0, -30));
  EXPECT_LT(std::abs(value(both, "within_r_k")), 0.3);
  EXPECT_GT(value(both, "within_r_q"), 0.7);
}

TEST(HeadStatistics, LogitsOfAllPairs) {
  at::manual_seed(6);
  const auto q = documents(0.5, 1), k = documents(0.5, 2);
  const HeadReplicates head = head_of(q, k);
  const at::Tensor x = vectors(q), y = vectors(k), t = positions(k);
  const at::Tensor logits = at::mm(x, y.t()) * 0.5;  // [queries, keys]
  const at::Tensor centred = logits - logits.mean(1, true), times = t - t.mean();
  const double variance = centred.square().mean().item<double>();
  const at::Tensor slope = at::mv(centred, times) / times.square().sum();
  const double linear = (slope.square().mean() * times.square().mean()).item<double>();
  EXPECT_NEAR(value(head, "logit_sd"), std::sqrt(variance), 1e-9);
  EXPECT_NEAR(value(head, "logit_pos_share"), linear / variance, 1e-9);
  EXPECT_NEAR(value(head, "logit_const"), logits.mean().item<double>(), 1e-9);
}

TEST(HeadStatistics, BiasFromOneEndOfTheContextToTheOther) {
  at::manual_seed(7);
  const auto q = documents(0.5, 1), k = documents(0.9, 2);
  const HeadReplicates head = head_of(q, k);
  const at::Tensor t = positions(k) - positions(k).mean();
  const at::Tensor slope =
      at::mv((vectors(k) - vectors(k).mean(0)).t(), t) / t.square().sum();  // of keys, per token
  const double all = vectors(q).mean(0).dot(slope).item<double>();
  EXPECT_NEAR(value(head, "bias_strength") + value(head, "bias_off"), all, 1e-12);
  EXPECT_NEAR(value(head, "bias_context"), 0.5 * 57 * value(head, "bias_strength"), 1e-12);
  EXPECT_NEAR(value(head, "var_frac_a") + value(head, "var_frac_b"),
              value(head, "plane_var_fraction"), 1e-12);
  EXPECT_TRUE(std::isnan(value(head_of(q, k, {}), "bias_context")));
}

TEST(HeadStatistics, DriftWithinItsNoiseIsFlagged) {
  at::manual_seed(8);
  EXPECT_TRUE(no_drift(head_of(documents(0, 1), documents(0, 1))));
  EXPECT_FALSE(no_drift(head_of(documents(2, 1), documents(2, 1))));
}

TEST(HeadStatistics, AxesThatMayTradePlacesAreFlagged) {
  const auto flags = [](double first, double second, double third) {
    at::manual_seed(10);
    const at::Tensor scales = at::tensor({first, second, third, 0.1, 0.1, 0.1}, at::kDouble);
    const auto stream = [&](double offset) {
      std::vector<at::Tensor> list;
      for (int i = 0; i < kDocuments; ++i) {
        const at::Tensor t = at::arange(400, at::kDouble) / 200 - 1;
        at::Tensor x = at::randn({400, kDim}, at::kDouble) * scales;
        x.select(1, 3).add_(t);  // drifts
        x.select(1, 0).add_(offset);
        list.push_back(x);
      }
      return list;
    };
    CheckpointTable checkpoint;
    add_head(checkpoint, {}, head_of(stream(first), stream(-first)),
             std::vector<double>(kDocuments, 800));
    return ";" + checkpoint.head_flag[0] + ";";
  };
  const auto has = [](const std::string& found, const char* name) {
    return found.find(std::string(";") + name + ";") != std::string::npos;
  };
  // The offset makes the first direction the widest; without it the first two tie.
  const std::string within = flags(3, 3, 1);
  EXPECT_TRUE(has(within, "near_tie_within")) << within;
  EXPECT_FALSE(has(within, "near_tie_b") || has(within, "near_tie")) << within;
  // With it counted double, the first two tie.
  const std::string b = flags(1, std::sqrt(3), 0.5);
  EXPECT_TRUE(has(b, "near_tie_b")) << b;
  EXPECT_FALSE(has(b, "near_tie_within")) << b;
  const std::string none = flags(3, 1, 0.5);
  EXPECT_FALSE(has(none, "near_tie_within") || has(none, "near_tie_b")) << none;
}

TEST(HeadStatistics, ShapeOfAKnownSpectrum) {
  at::manual_seed(9);
  const HeadReplicates head = head_of(documents(0, 0, 2), documents(0, 0, 2));
  const auto [values, unused] = at::linalg_eigh(head.queries.products[0]);
  const double small = values[0].item<double>(), large = values[1].item<double>();
  const double all = small + large;
  EXPECT_NEAR(value(head, "rank90_q"),
              large >= 0.9 * all ? 0.9 * all / large : 1 + (0.9 * all - large) / small, 1e-9);
  EXPECT_NEAR(value(head, "pr_q"), all * all / (small * small + large * large), 1e-9);
  EXPECT_GE(value(head, "massive_q"), 1);
  EXPECT_NEAR(value(head, "r2_pc2_q"), value(head, "r2_q"), 1e-9) << "two are all there are";
}

}  // namespace
}  // namespace ropewalk
