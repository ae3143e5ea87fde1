// Compares cross-validated fits and their errors with a separate solution for every pair of blocks.

#include "ropewalk/analysis/replicates/position_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "ropewalk/analysis/math/jackknife.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int kDocuments = 8;
constexpr int64_t kTokens = 150;
constexpr int64_t kDim = 40;

// Documents with the same drift; each has a direction of its own with `own` of its vectors.
std::vector<at::Tensor> documents(double smallest, double own) {
  const at::Tensor scales =
      at::pow(smallest, at::arange(kDim, at::kDouble) / static_cast<double>(kDim - 1));
  const at::Tensor drift = at::randn({kDim}, at::kDouble);
  const at::Tensor t = at::arange(kTokens, at::kDouble).unsqueeze(1) / kTokens - 0.5;
  std::vector<at::Tensor> list;
  for (int i = 0; i < kDocuments; ++i) {
    const at::Tensor noise = at::randn({kTokens, kDim}, at::kDouble) + t * drift;
    const at::Tensor lone =
        at::randn({kTokens, 1}, at::kDouble) * at::randn({kDim}, at::kDouble) * own;
    list.push_back((noise + lone) * scales);
  }
  return list;
}

// Squared errors of predicting the positions of document g without b and g: by the fit, and by the
// mean.
std::pair<double, double> errors_without(const std::vector<at::Tensor>& list, int b, int g) {
  std::vector<at::Tensor> kept;
  for (int i = 0; i < kDocuments; ++i) {
    if (i != b && i != g) kept.push_back(list[static_cast<size_t>(i)]);
  }
  const at::Tensor x = at::cat(kept), t = at::arange(kTokens, at::kDouble);
  const at::Tensor times = t.repeat({static_cast<int64_t>(kept.size())});
  const at::Tensor centred = x - x.mean(0);
  const auto [values, basis] = at::linalg_eigh(at::mm(centred.t(), centred));
  const at::Tensor along = at::mv(basis.t(), at::mv(centred.t(), times - times.mean()));
  const at::Tensor weights = at::mv(basis, along / values);
  const at::Tensor predicted =
      times.mean() + at::mv(list[static_cast<size_t>(g)] - x.mean(0), weights);
  return {(t - predicted).square().sum().item<double>(),
          (t - times.mean()).square().sum().item<double>()};
}

void expect_errors_of_direct_solutions(double smallest, double own) {
  const std::vector<at::Tensor> list = documents(smallest, own);
  const PositionFit fit = position_fit(leave_one_out(stream_input(list)));
  const auto without = [&](int b) {
    double error = 0, plain = 0;
    for (int g = 0; g < kDocuments; ++g) {
      if (g == b) continue;
      const auto [one, mean] = errors_without(list, b, g);
      error += one, plain += mean;
    }
    return 1 - error / plain;
  };
  std::vector<double> expected, found;
  for (int b = 0; b < kDocuments; ++b) {
    expected.push_back(without(b));
    found.push_back(fit.r2_cv[b + 1].item<double>());
  }
  const double value = without(-1), actual = fit.r2_cv[0].item<double>();
  const std::vector<double> sizes(kDocuments, kTokens);
  const double error = jackknife_se(value, expected, sizes);
  EXPECT_NEAR(jackknife_se(actual, found, sizes) / error, 1, 1e-5);
  EXPECT_NEAR((actual - value) / error, 0, 1e-6);
}

TEST(PositionFitErrors, AreThoseOfDirectSolutions) {
  at::manual_seed(11);
  expect_errors_of_direct_solutions(0.5, 0);
}

TEST(PositionFitErrors, WhereBlocksHaveDirectionsOfTheirOwn) {
  at::manual_seed(12);
  expect_errors_of_direct_solutions(0.5, 0.5);
  expect_errors_of_direct_solutions(0.5, 3);
}

TEST(PositionFitErrors, WhereProductsAreBadlyConditioned) {
  at::manual_seed(13);
  expect_errors_of_direct_solutions(4e-3, 0);
  expect_errors_of_direct_solutions(2e-2, 3);  // smaller variances would be left out
}

}  // namespace
}  // namespace ropewalk
