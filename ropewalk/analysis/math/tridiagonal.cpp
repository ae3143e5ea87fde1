#include "ropewalk/analysis/math/tridiagonal.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-280;  // squares below this have lost digits

// Turns x, which is 0 before `at`, into the vector v of a reflection I - factor · v vᵀ. The
// reflection maps x to a single number at index `at`, which is returned.
double make_reflection(double* x, int64_t at, int64_t end, double& factor) {
  const double first = x[at];
  x[at] = 0;
  const double rest = dot(x + at, x + at, end - at);
  factor = 0;
  if (rest < kSmallest) return first;
  const double left = -std::copysign(std::sqrt(first * first + rest), first);
  const double pivot = first - left;
  blend(x + at, 1 / pivot, 0, x + at, end - at);
  x[at] = 1;
  factor = -pivot / left;
  return left;
}

}  // namespace

Tridiagonal::Tridiagonal(const double* matrix, const double* first, int64_t d,
                         const cpu::TridiagonalKernel& kernel)
    : kernel_(&kernel), d_(d), padded_((d + cpu::kRowWidth - 1) / cpu::kRowWidth * cpu::kRowWidth) {
  double largest = 0;
  for (int64_t i = 0; i < d; ++i) largest = std::max(largest, std::abs(matrix[i * d + i]));
  if (!(largest > kSmallest) || !(largest < 1 / kSmallest)) return;
  // Scaling by a power of two does not round.
  scale_ = std::exp2(std::ilogb(largest));
  rows_.resize(static_cast<size_t>((padded_ + 1) * padded_));
  for (int64_t i = 0; i < d; ++i) blend(row(i + 1), 0, 1 / scale_, matrix + i * d, d);
  reduce(first);
  // A value that is not finite spreads, so that one check at the end is enough.
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(diagonal_.begin(), diagonal_.end(), finite) ||
      !std::all_of(off_diagonal_.begin(), off_diagonal_.end(), finite) || !std::isfinite(corner_)) {
    scale_ = 0;
  }
}

void Tridiagonal::reduce(const double* first) {
  const auto size = static_cast<size_t>(padded_);
  factors_.resize(static_cast<size_t>(d_));
  diagonal_.resize(static_cast<size_t>(d_));
  off_diagonal_.resize(static_cast<size_t>(d_ - 1));
  // Still to be subtracted from the matrix: v wᵀ + w vᵀ.
  std::vector<double> v(size), w(size), product(size);
  // Reflects the remaining matrix, from row and column `from` on.
  const auto reflect = [&](int64_t from) {
    const double *next = row(from), factor = factors_[static_cast<size_t>(from)];
    std::fill(product.begin(), product.end(), 0);
    kernel_->update_and_multiply(row(1), padded_, from, v.data(), w.data(), next, product.data());
    std::fill_n(product.begin(), from, 0);  // these rows are finished
    const double half = factor / 2 * dot(product.data(), next, padded_);
    std::copy_n(next, padded_, v.begin());
    w = product;
    blend(w.data(), factor, -factor * half, next, padded_);
  };
  std::copy_n(first, d_, row(0));
  const double length = make_reflection(row(0), 0, padded_, factors_[0]);
  corner_ = length * length / scale_;
  reflect(0);
  for (int64_t j = 0; j < d_; ++j) {
    double* const column = row(j + 1);
    const auto at = static_cast<size_t>(j);
    blend(column, 1, -v[at], w.data(), padded_);
    blend(column, 1, -w[at], v.data(), padded_);
    diagonal_[at] = column[j];
    if (j + 1 == d_) break;
    std::fill_n(column, j + 1, 0.0);
    off_diagonal_[at] = make_reflection(column, j + 1, padded_, factors_[at + 1]);
    v[at] = w[at] = 0;
    reflect(j + 1);
  }
}

void Tridiagonal::to_reduced_basis(double* x) const {
  for (int64_t j = 0; j < d_; ++j) {
    const int64_t begin = j / cpu::kRowWidth * cpu::kRowWidth;
    kernel_->reflect(x + begin, 1, padded_, row(j) + begin, factors_[static_cast<size_t>(j)],
                     padded_ - begin);
  }
}

void Tridiagonal::from_reduced_basis(double* x, int64_t rows) const {
  for (int64_t j = d_ - 1; j >= 0; --j) {
    const int64_t begin = j / cpu::kRowWidth * cpu::kRowWidth;
    kernel_->reflect(x + begin, rows, padded_, row(j) + begin, factors_[static_cast<size_t>(j)],
                     padded_ - begin);
  }
}

}  // namespace ropewalk
