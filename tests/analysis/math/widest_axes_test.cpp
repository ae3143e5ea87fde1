#include "ropewalk/analysis/math/widest_axes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/replicates/spectrum.h"

namespace ropewalk {
namespace {

// Four replicates with this spectrum.
WidestAxesInput problem_of(const at::Tensor& values, int64_t leading) {
  const int64_t d = values.size(0);
  WidestAxesInput problem;
  std::vector<at::Tensor> cases;
  for (int i = 0; i < 4; ++i) cases.push_back(with_spectrum(values));
  problem.covariance = at::stack(cases);
  problem.tokens = at::tensor({100.0, 90.0, 80.0, 70.0}, at::kDouble);
  problem.offset = at::randn({4, d}, at::kDouble);
  problem.weight = at::tensor({0.25, 0.2, 0.1, 0.25}, at::kDouble);
  problem.a = at::randn({4, d}, at::kDouble);
  problem.a = problem.a / problem.a.norm(2, 1, true);
  problem.leading = leading;
  return problem;
}

double along(const at::Tensor& matrix, const at::Tensor& vector) {
  return at::dot(vector, at::mv(matrix, vector)).item<double>();
}

// Each direction must have the largest variance according to torch, and the returned value.
void expect_widest(const WidestAxesInput& problem) {
  const int64_t d = problem.covariance.size(1);
  const WidestAxes axes = widest_axes(problem);
  for (int64_t i = 0; i < problem.covariance.size(0); ++i) {
    SCOPED_TRACE(i);
    const at::Tensor& covariance = problem.covariance[i];
    const at::Tensor all = std::get<0>(at::linalg_eigh(covariance));
    const double size = all.abs().max().item<double>() + 1e-300, exact = 1e-11 * size;
    for (int64_t j = 0; j < problem.leading; ++j) {
      EXPECT_NEAR(axes.values[i][j].item<double>(), all[d - 1 - j].item<double>(), exact) << j;
      EXPECT_NEAR(along(covariance, axes.vectors[i][j]), all[d - 1 - j].item<double>(), exact) << j;
    }
    const at::Tensor gram = at::mm(axes.vectors[i], axes.vectors[i].t());
    EXPECT_LT((gram - at::eye(problem.leading, at::kDouble)).abs().max().item<double>(), 1e-12);
    const double tokens = problem.tokens[i].item<double>();
    const at::Tensor pooled = covariance * ((tokens - 1) / tokens);
    const at::Tensor apart =
        at::outer(problem.offset[i], problem.offset[i]) * problem.weight[i].item<double>();
    const auto widest = [](const at::Tensor& matrix) {
      return std::get<0>(at::linalg_eigh(matrix))[-1].item<double>();
    };
    const double scale = exact + 1e-11 * apart.norm().item<double>();
    EXPECT_NEAR(axes.within_values[i].item<double>(), widest(pooled - apart), scale);
    EXPECT_NEAR(along(pooled - apart, axes.within[i]), widest(pooled - apart), scale);
    EXPECT_NEAR(axes.within[i].norm().item<double>(), 1, 1e-12);
    const at::Tensor away = at::eye(d, at::kDouble) - at::outer(problem.a[i], problem.a[i]);
    const double second = widest(at::mm(at::mm(away, pooled + apart), away));
    EXPECT_NEAR(axes.b_values[i].item<double>(), second, scale);
    EXPECT_NEAR(along(pooled + apart, axes.b[i]), second, scale);
    EXPECT_NEAR(at::dot(axes.b[i], problem.a[i]).item<double>(), 0, 1e-10);
    if (i > 0) continue;
    const auto next = [&](const at::Tensor& matrix) {
      return std::get<0>(at::linalg_eigh(matrix))[-2].clamp_min(0).item<double>();
    };
    const double digits = scale + 1e-9 * (size + apart.norm().item<double>());
    EXPECT_NEAR(axes.next_within, next(pooled - apart), digits);
    EXPECT_NEAR(axes.next_b, next(at::mm(at::mm(away, pooled + apart), away)), digits);
  }
}

TEST(WidestAxes, AreThoseOfTheWholeProblem) {
  at::manual_seed(7);
  for (const int64_t d : {2, 3, 20, 64, 80, 128}) {
    SCOPED_TRACE(d);
    const at::Tensor values = at::rand({d}, at::kDouble) * 5;
    expect_widest(problem_of(values, std::min<int64_t>(d, 10)));
    if (d >= 20) expect_widest(problem_of(values, 20));  // more than are computed one by one
  }
}

TEST(WidestAxes, AreFoundWhereNothingTellsThemApart) {
  at::manual_seed(8);
  constexpr int64_t kDim = 48;
  at::Tensor huge = at::ones({kDim}, at::kDouble), few = at::zeros({kDim}, at::kDouble);
  huge[3] = 1e12;
  few.slice(0, 0, 3).fill_(2);
  expect_widest(problem_of(at::ones({kDim}, at::kDouble), 10));
  expect_widest(problem_of(huge, 10));
  expect_widest(problem_of(few, 10));
}

// A replicate without tokens has neither weights nor a drift axis; the other replicates are not
// affected.
TEST(WidestAxes, OfACaseWithoutTokens) {
  at::manual_seed(9);
  WidestAxesInput problem = problem_of(at::arange(1, 49, at::kDouble), 10);
  const WidestAxes before = widest_axes(problem);
  problem.covariance[2].zero_();
  problem.tokens[2] = 0;
  problem.offset[2].zero_();
  problem.weight[2] = std::nan("");
  problem.a[2].zero_();
  const WidestAxes after = widest_axes(problem);
  EXPECT_EQ(after.values[2].abs().max().item<double>(), 0);
  for (const int64_t i : {0, 1, 3}) {
    EXPECT_TRUE(after.vectors[i].equal(before.vectors[i])) << i;
    EXPECT_TRUE(after.b[i].equal(before.b[i])) << i;
  }
}

}  // namespace
}  // namespace ropewalk
