#include "ropewalk/analysis/math/tridiagonal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/analysis/replicates/spectrum.h"

namespace ropewalk {
namespace {

at::Tensor tridiagonal_of(const Tridiagonal& t) {
  at::Tensor matrix = at::diag(at::tensor(t.diagonal(), at::kDouble));
  if (t.size() > 1) {
    const at::Tensor off_diagonal = at::diag(at::tensor(t.off_diagonal(), at::kDouble), 1);
    matrix = matrix + off_diagonal + off_diagonal.t();
  }
  return matrix * t.scale();
}

TEST(Tridiagonal, IsTheMatrixInABasisThatBeginsWithTheVector) {
  at::manual_seed(1);
  for (const cpu::TridiagonalKernel* kernel : cpu::tridiagonal_kernels()) {
    for (const int64_t d : {1, 2, 3, 7, 8, 9, 64, 80, 128, 256}) {
      SCOPED_TRACE(std::string(kernel->name) + " " + std::to_string(d));
      const at::Tensor matrix = with_spectrum(at::rand({d}, at::kDouble) * 1e-3 + 1e-3);
      const at::Tensor first = at::randn({d}, at::kDouble);
      const Tridiagonal t(matrix.const_data_ptr<double>(), first.const_data_ptr<double>(), d,
                          *kernel);
      ASSERT_TRUE(t.usable());
      at::Tensor basis = at::zeros({d, t.padded()}, at::kDouble);  // its rows are Q's columns
      basis.slice(1, 0, d).copy_(at::eye(d, at::kDouble));
      t.from_reduced_basis(basis.mutable_data_ptr<double>(), d);
      EXPECT_EQ(basis.slice(1, d).abs().sum().item<double>(), 0);
      basis = basis.slice(1, 0, d);
      EXPECT_LT((at::mm(basis, basis.t()) - at::eye(d, at::kDouble)).abs().max().item<double>(),
                1e-13);
      const at::Tensor inside = at::mm(at::mm(basis, matrix), basis.t());
      EXPECT_LT((inside - tridiagonal_of(t)).abs().max().item<double>(), 1e-15);
      const at::Tensor along = at::mv(basis, first);
      EXPECT_NEAR(along[0].square().item<double>(), t.corner() * t.scale(), 1e-10);
      EXPECT_LT(along.slice(0, 1).norm().item<double>(), 1e-12);
      at::Tensor turned = at::zeros({t.padded()}, at::kDouble);
      turned.slice(0, 0, d).copy_(first);
      t.to_reduced_basis(turned.mutable_data_ptr<double>());
      EXPECT_LT((turned.slice(0, 0, d) - along).abs().max().item<double>(), 1e-12);
    }
  }
}

TEST(Tridiagonal, SaysWhereThereIsNothingToSeek) {
  constexpr int64_t kDim = 40;
  const at::Tensor none = at::zeros({kDim}, at::kDouble);
  const auto usable = [&](const at::Tensor& matrix, const at::Tensor& first) {
    return Tridiagonal(matrix.const_data_ptr<double>(), first.const_data_ptr<double>(), kDim)
        .usable();
  };
  const at::Tensor one = at::eye(kDim, at::kDouble);
  EXPECT_TRUE(usable(one, none));
  EXPECT_TRUE(usable(one * 1e-200, none));
  EXPECT_FALSE(usable(one * 0, none));
  for (const double odd : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    at::Tensor matrix = one.clone(), first = none.clone();
    matrix[7][3] = matrix[3][7] = odd;
    first[5] = odd;
    EXPECT_FALSE(usable(matrix, none)) << odd;
    EXPECT_FALSE(usable(one, first)) << odd;
  }
}

}  // namespace
}  // namespace ropewalk
