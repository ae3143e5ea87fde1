#include "ropewalk/analysis/math/tridiagonal_top.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/analysis/replicates/spectrum.h"

namespace ropewalk {
namespace {

constexpr double kWeight = 0.3;

at::Tensor unit(int64_t d) {
  const at::Tensor x = at::randn({d}, at::kDouble);
  return x / x.norm();
}

at::Tensor tensor(const std::vector<double>& numbers) { return at::tensor(numbers, at::kDouble); }

at::Tensor eigenvalues(const at::Tensor& matrix) { return std::get<0>(at::linalg_eigh(matrix)); }

// Checks that values and vectors belong to the matrix, and are the largest of these ascending
// eigenvalues.
void expect_largest(const at::Tensor& matrix, const at::Tensor& all, const at::Tensor& values,
                    const at::Tensor& vectors) {
  const int64_t d = matrix.size(0), count = values.size(0);
  const double size = all.abs().max().item<double>();
  const at::Tensor errors = values - all.slice(0, d - count).flip(0);
  EXPECT_LT(errors.abs().max().item<double>(), 1e-12 * size);
  const at::Tensor left = at::mm(vectors, matrix) - vectors * values.unsqueeze(1);
  EXPECT_LT(left.abs().max().item<double>(), 1e-12 * size);
  const at::Tensor gram = at::mm(vectors, vectors.t());
  EXPECT_LT((gram - at::eye(count, at::kDouble)).abs().max().item<double>(), 1e-12);
}

struct Found {
  std::optional<LargestEigenpairs> top;
  std::optional<Eigenpair> without;
};

// Computes all eigenpairs with a random offset of this length, and compares them with torch.
Found seek(const at::Tensor& matrix, int64_t count, double length,
           const cpu::TridiagonalKernel& kernel = *cpu::tridiagonal_kernels().front()) {
  const int64_t d = matrix.size(0);
  const at::Tensor offset = unit(d) * length, a = unit(d);
  const Tridiagonal reduced(matrix.const_data_ptr<double>(), offset.const_data_ptr<double>(), d,
                            kernel);
  Found found;
  found.top = largest_eigenpairs(reduced, count, kWeight);
  if (!found.top) return found;
  const at::Tensor values = tensor(found.top->values);
  const at::Tensor vectors =
      tensor(found.top->vectors).reshape({count + 1, reduced.padded()}).slice(1, 0, d);
  expect_largest(matrix, eigenvalues(matrix), values.slice(0, 0, count),
                 vectors.slice(0, 0, count));
  const at::Tensor square = at::outer(offset, offset) * kWeight, less = matrix - square;
  expect_largest(less, eigenvalues(less), values.slice(0, count), vectors.slice(0, count));
  const double* numbers = a.const_data_ptr<double>();
  found.without = largest_without_direction(reduced, *found.top, kWeight, {numbers, numbers + d});
  if (found.without) {
    const at::Tensor away = at::eye(d, at::kDouble) - at::outer(a, a);
    const at::Tensor more = at::mm(at::mm(away, matrix + square), away);
    const at::Tensor vector = tensor(found.without->vector).slice(0, 0, d);
    expect_largest(more, eigenvalues(more), tensor({found.without->value}), vector.unsqueeze(0));
    EXPECT_NEAR(at::dot(vector, a).item<double>(), 0, 1e-12);
  }
  return found;
}

TEST(TridiagonalTop, IsTheTopOfTheWholeProblem) {
  at::manual_seed(4);
  for (const cpu::TridiagonalKernel* kernel : cpu::tridiagonal_kernels()) {
    for (const int64_t d : {3, 8, 33, 64, 80, 128, 256}) {
      for (const double length : {0.0, 5.0}) {
        SCOPED_TRACE(std::string(kernel->name) + " " + std::to_string(d) + " " +
                     std::to_string(length));
        const at::Tensor values = at::rand({d}, at::kDouble).pow(2) * 3;
        const Found found = seek(with_spectrum(values), std::min<int64_t>(d, 10), length, *kernel);
        EXPECT_TRUE(found.top && found.without);
      }
    }
  }
}

TEST(TridiagonalTop, StandsOddSpectra) {
  at::manual_seed(5);
  constexpr int64_t kDim = 96;
  const at::Tensor even = at::arange(1, kDim + 1, at::kDouble);
  at::Tensor huge = even.clone(), few = even.clone(), near = even.clone();
  huge[0] = 1e12;
  few.slice(0, 0, kDim - 14).zero_();
  near[kDim - 2] = kDim - 1e-5;
  const std::vector<at::Tensor> spectra = {huge,          few,          near,
                                           even * 1e-150, even * 1e150, even - kDim / 2};
  for (size_t i = 0; i < spectra.size(); ++i) {
    SCOPED_TRACE(i);
    const Found found = seek(with_spectrum(spectra[i]), 10, 0);
    EXPECT_TRUE(found.top && found.without);
  }
}

// The full problem is solved in this case.
TEST(TridiagonalTop, SaysWhereEigenvaluesCannotBeTold) {
  at::manual_seed(6);
  constexpr int64_t kDim = 48;
  at::Tensor few = at::zeros({kDim}, at::kDouble);
  few.slice(0, 0, 3).fill_(2);
  for (const at::Tensor& values : {at::ones({kDim}, at::kDouble), few, few * 0, few / 0}) {
    EXPECT_FALSE(seek(with_spectrum(values), 10, 0.5).top) << values;
  }
  const at::Tensor one = at::eye(2, at::kDouble);
  EXPECT_FALSE(seek(one, 2, 0).top);
  EXPECT_FALSE(seek(with_spectrum(at::arange(kDim, at::kDouble)), kMostTop + 1, 0).top);
  // With one dimension there is nothing orthogonal.
  EXPECT_FALSE(seek(at::eye(1, at::kDouble), 1, 0).without);
}

}  // namespace
}  // namespace ropewalk
