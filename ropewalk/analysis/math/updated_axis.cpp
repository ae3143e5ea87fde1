#include "ropewalk/analysis/math/updated_axis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace ropewalk {
namespace {

constexpr int kMostHalvings = 400;
constexpr int kHalvings = 40;     // where a few digits are enough
constexpr double kExact = 1e-10;  // relative to the largest eigenvalue

using Row = std::span<const double>;

// diag(values) + sign · z zᵀ, restricted to the directions orthogonal to a (empty: no restriction),
// in the basis of the eigenvectors. Values ascend.
class UpdatedEigenproblem {
 public:
  UpdatedEigenproblem(Row values, Row z, double sign, Row a)
      : values_(values), z_(z), sign_(sign), a_(a) {}

  // The largest eigenvalue and its vector; empty where it is too close to its neighbours.
  std::optional<std::pair<double, std::vector<double>>> solve() {
    const size_t d = values_.size();
    const double top = values_[d - 1], next = d > 1 ? values_[d - 2] : top;
    double squares = 0;
    for (const double x : z_) squares += x * x;
    if (!(top > 0) || d < 2) return std::nullopt;
    // By interlacing, the root is at least the second largest diagonal value. We search its
    // distance from the nearer one of the two largest, because the distance keeps more digits.
    const double middle = next + (top - next) / 2;
    pole_ = d - 1;
    if (any_above(middle - top)) {
      return root(middle - top, std::max(0.0, sign_) * squares);
    }
    pole_ = d - 2;
    return root(0, middle - next);
  }

  // The second largest eigenvalue of a matrix without negative ones.
  double second(double largest) {
    pole_ = values_.size() - 1;
    double low = 0, high = largest;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = low + (high - low) / 2;
      (count_above(middle - values_[pole_]) > 1 ? low : high) = middle;
    }
    return low;
  }

 private:
  struct SecularSums {
    double zz = 0, za = 0, aa = 0;
    int64_t above = 0;
  };

  SecularSums sums(double distance) const {
    SecularSums s;
    const double pole = values_[pole_];
    for (size_t i = 0; i < values_.size(); ++i) {
      const double gap = (values_[i] - pole) - distance;
      const double r = 1 / gap;
      const double a = a_.empty() ? 0 : a_[i];
      s.zz += z_[i] * z_[i] * r;
      s.za += z_[i] * a * r;
      s.aa += a * a * r;
      s.above += gap > 0;
    }
    return s;
  }

  bool any_above(double distance) const { return count_above(distance) > 0; }

  // How many eigenvalues lie above the pole plus `distance`: the inertia of the matrix bordered by
  // z and a, which by Haynsworth's formula is the sum of the inertias of its blocks.
  int64_t count_above(double distance) const {
    const SecularSums s = sums(distance);
    const double zz = -1 / sign_ - s.zz;
    const int64_t fewer = sign_ < 0 ? 1 : 0;
    if (a_.empty()) return s.above + (zz > 0 ? 1 : 0) - fewer;
    const double mean = (zz - s.aa) / 2, half = std::hypot((zz + s.aa) / 2, s.za);
    const int64_t positive = (mean + half > 0 ? 1 : 0) + (mean - half > 0 ? 1 : 0);
    return s.above + positive - fewer - 1;
  }

  std::optional<std::pair<double, std::vector<double>>> root(double low, double high) const {
    for (int i = 0; i < kMostHalvings; ++i) {
      const double middle = low + (high - low) / 2;
      if (middle <= low || middle >= high) break;
      (any_above(middle) ? low : high) = middle;
    }
    const double distance = low + (high - low) / 2;
    const SecularSums s = sums(distance);
    // (D - m) v = z x + a y, with zᵀv = -x / sign and aᵀv = 0.
    double x = 1, y = 0;
    if (!a_.empty()) {
      const double first = std::abs(s.za) + std::abs(s.aa);
      const double second = std::abs(1 / sign_ + s.zz) + std::abs(s.za);
      (first >= second) ? (x = s.aa, y = -s.za) : (x = s.za, y = -(1 / sign_ + s.zz));
    }
    const double pole = values_[pole_];
    std::vector<double> v(values_.size());
    double length = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      v[i] = (z_[i] * x + (a_.empty() ? 0 : a_[i] * y)) / ((values_[i] - pole) - distance);
      length += v[i] * v[i];
    }
    length = std::sqrt(length);
    if (!(length > 0) || !std::isfinite(length)) return std::nullopt;
    for (double& one : v) one /= length;
    const double value = pole + distance;
    if (!holds(v, value)) return std::nullopt;
    return std::pair(value, std::move(v));
  }

  bool holds(const std::vector<double>& v, double value) const {
    double zv = 0, av = 0, along = 0, error = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      zv += z_[i] * v[i];
      if (!a_.empty()) av += a_[i] * v[i];
    }
    std::vector<double> residual(v.size());
    for (size_t i = 0; i < v.size(); ++i) {
      residual[i] = (values_[i] - value) * v[i] + sign_ * z_[i] * zv;
      if (!a_.empty()) along += a_[i] * residual[i];
    }
    for (size_t i = 0; i < v.size(); ++i) {
      error += std::pow(residual[i] - (a_.empty() ? 0 : a_[i] * along), 2);
    }
    const double scale = std::max(value, values_.back());
    return std::sqrt(error) <= kExact * scale && std::abs(av) <= kExact;
  }

  Row values_, z_;
  double sign_;
  Row a_;
  size_t pole_ = 0;
};

// Solves the full eigenproblem.
std::pair<double, at::Tensor> solve_whole(const at::Tensor& values, const at::Tensor& z,
                                          double sign, const at::Tensor& a) {
  at::Tensor matrix = at::diag(values) + sign * at::outer(z, z);
  if (a.defined()) {
    const at::Tensor projection = at::eye(a.size(0), at::kDouble) - at::outer(a, a);
    matrix = at::mm(at::mm(projection, matrix), projection);
  }
  auto [all, vectors] = at::linalg_eigh(matrix.nan_to_num(0, 0, 0));  // a replicate without tokens
  return {all[-1].item<double>(), vectors.select(1, -1)};
}

Row row_of(const at::Tensor& row) {
  return {row.const_data_ptr<double>(), static_cast<size_t>(row.numel())};
}

}  // namespace

UpdatedAxis updated_axis(const at::Tensor& diagonal, const at::Tensor& update, double sign,
                         const at::Tensor& without) {
  const int64_t cases = diagonal.size(0), d = diagonal.size(1);
  const at::Tensor ascending = diagonal.contiguous(), z = update.contiguous();
  const at::Tensor a = without.defined() ? without.contiguous() : at::Tensor();
  const auto row = [&](const at::Tensor& rows, int64_t i) {
    return Row(rows.const_data_ptr<double>() + i * d, static_cast<size_t>(d));
  };
  at::Tensor vectors = at::empty({cases, d}, at::kDouble), found = at::empty({cases}, at::kDouble);
  for (int64_t i = 0; i < cases; ++i) {
    UpdatedEigenproblem problem(row(ascending, i), row(z, i), sign,
                                a.defined() ? row(a, i) : Row());
    if (const auto solution = problem.solve()) {
      found[i] = solution->first;
      std::copy(solution->second.begin(), solution->second.end(),
                vectors.mutable_data_ptr<double>() + i * d);
      continue;
    }
    const auto [value, vector] =
        solve_whole(ascending[i], z[i], sign, a.defined() ? a[i] : at::Tensor());
    found[i] = value;
    vectors[i].copy_(vector);
  }
  return {vectors, found};
}

double next_value(const at::Tensor& diagonal, const at::Tensor& update, double sign, double largest,
                  const at::Tensor& without) {
  const at::Tensor ascending = diagonal.contiguous(), z = update.contiguous();
  const at::Tensor a = without.defined() ? without.contiguous() : at::Tensor();
  return UpdatedEigenproblem(row_of(ascending), row_of(z), sign, a.defined() ? row_of(a) : Row())
      .second(largest);
}

}  // namespace ropewalk
