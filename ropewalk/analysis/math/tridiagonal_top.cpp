#include "ropewalk/analysis/math/tridiagonal_top.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {
namespace {

using cpu::EigenvalueGuesses;
using cpu::kGuesses;

constexpr int kHalvings = 20;      // halvings before Rayleigh steps are tried
constexpr int kMoreHalvings = 36;  // halvings where these steps failed
constexpr int kMostSteps = 5;
constexpr int kMostNarrowings = 16;
constexpr int kFewNarrowings = 10;  // each narrows an interval to 1/17: 12 digits in total
constexpr int kRefinements = 2;
constexpr double kConverged = 4e-15;  // relative to the largest eigenvalue
constexpr double kExact = 1e-12;      // relative to the largest eigenvalue
constexpr double kOrthogonal = 1e-14;

// An upper bound for the size of all eigenvalues (Gershgorin).
double bound(std::span<const double> diagonal, std::span<const double> off_diagonal) {
  double most = 0;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    const double before = i > 0 ? std::abs(off_diagonal[i - 1]) : 0;
    const double after = i < off_diagonal.size() ? std::abs(off_diagonal[i]) : 0;
    most = std::max(most, std::abs(diagonal[i]) + before + after);
  }
  return most;
}

// (T - m) v, where T has this corner.
void multiply(const Tridiagonal& t, double corner, double m, const double* v, double* product) {
  const int64_t d = t.size();
  const double *diagonal = t.diagonal().data(), *off_diagonal = t.off_diagonal().data();
  for (int64_t i = 0; i < d; ++i) {
    double sum = ((i == 0 ? corner : diagonal[i]) - m) * v[i];
    if (i > 0) sum += off_diagonal[i - 1] * v[i - 1];
    if (i + 1 < d) sum += off_diagonal[i] * v[i + 1];
    product[i] = sum;
  }
}

EigenvalueGuesses guesses_of(const Tridiagonal& t, double corner) {
  EigenvalueGuesses guesses{t.size(), t.diagonal().data(), t.off_diagonal().data(), {}, {}};
  std::fill_n(guesses.corner, kGuesses, corner);
  return guesses;
}

// Finds the largest eigenvalues of T. The last lane finds the largest eigenvalue of T with another
// corner.
class EigenvalueSearch {
 public:
  EigenvalueSearch(const Tridiagonal& t, int64_t count, double other_corner)
      : t_(t),
        d_(t.size()),
        count_(count),
        used_(count + 1),
        guesses_(guesses_of(t, t.diagonal()[0])) {
    guesses_.corner[count] = other_corner;
    size_ = bound(t.diagonal(), t.off_diagonal()) + std::abs(other_corner);
    low_.fill(-size_), high_.fill(size_);
    above_low_.fill(d_), above_high_.fill(0);
    down_.resize(static_cast<size_t>(d_ * kGuesses));
    up_.resize(down_.size());
    vectors_.resize(static_cast<size_t>(used_ * t.padded()));
  }

  bool found() {
    halve(kHalvings);
    if (step()) return true;
    halve(kMoreHalvings);
    return step();
  }

  // Makes the first vectors orthogonal to each other. Returns whether all are still eigenvectors
  // after that.
  bool orthogonalize_vectors() {
    std::vector<double> rest(static_cast<size_t>(d_));
    for (int64_t i = 0; i < used_; ++i) {
      double* const v = vector(i);
      for (int64_t j = 0; j < i && i < count_; ++j) {
        blend(v, 1, -dot(v, vector(j), d_), vector(j), d_);
      }
      const double length = std::sqrt(dot(v, v, d_));
      if (!(length > 0.5)) return false;
      blend(v, 1 / length, 0, v, d_);
      multiply(t_, corner(i), value(i), v, rest.data());
      if (!(dot(rest.data(), rest.data(), d_) <= std::pow(kExact * size_, 2))) return false;
    }
    return true;
  }

  double value(int64_t i) const { return guesses_.value[i]; }
  std::vector<double>& vectors() { return vectors_; }

 private:
  double corner(int64_t i) const { return guesses_.corner[i]; }
  double* vector(int64_t i) { return vectors_.data() + i * t_.padded(); }
  // The rank of lane i's eigenvalue, counted from the largest.
  int64_t wanted(int64_t i) const { return i < count_ ? i + 1 : 1; }

  double half(int64_t i) const {
    return (high_[static_cast<size_t>(i)] - low_[static_cast<size_t>(i)]) / 2;
  }
  double middle(int64_t i) const { return low_[static_cast<size_t>(i)] + half(i); }

  void halve(int times) {
    std::array<int64_t, kGuesses> above;
    for (int step = 0; step < times; ++step) {
      for (int64_t i = 0; i < kGuesses; ++i) guesses_.value[i] = middle(i);
      t_.kernel().count_above(guesses_, above.data());
      for (size_t i = 0; i < static_cast<size_t>(used_); ++i) {
        const bool lower = above[i] >= wanted(static_cast<int64_t>(i));
        (lower ? low_ : high_)[i] = guesses_.value[i];
        (lower ? above_low_ : above_high_)[i] = above[i];
      }
    }
    for (int64_t i = 0; i < kGuesses; ++i) guesses_.value[i] = middle(i);
  }

  // Improves the guesses by Rayleigh quotients of their vectors until they no longer change.
  bool step() {
    for (size_t i = 0; i < static_cast<size_t>(used_); ++i) {
      // several eigenvalues are too close to each other
      if (above_low_[i] - above_high_[i] != 1) return false;
    }
    for (int step = 0; step < kMostSteps; ++step) {
      t_.kernel().pivots(guesses_, down_.data(), up_.data());
      bool stand = true;
      for (int64_t i = 0; i < used_; ++i) {
        double error = 0;
        const double change = solve(i, error);
        if (!(error <= kConverged * size_)) stand = false;
        const double next = value(i) + change;
        if (!(std::abs(next - middle(i)) <= half(i) + kConverged * size_)) return false;
        guesses_.value[i] = next;
      }
      if (stand) return true;
    }
    return false;
  }

  // Computes the vector for which (T - m) v is 0 except in one row, where the factorisations from
  // both ends meet. Returns the Rayleigh quotient of this vector, less m, and the length of its
  // residual.
  double solve(int64_t lane, double& error) {
    const double *diagonal = t_.diagonal().data(), *off_diagonal = t_.off_diagonal().data();
    const double m = value(lane);
    const double *down = down_.data() + lane, *up = up_.data() + lane;
    int64_t meet = -1;
    double least = std::numeric_limits<double>::infinity(), left = 0;
    for (int64_t i = 0; i < d_; ++i) {
      const double here = (i == 0 ? corner(lane) : diagonal[i]) - m;
      const double gap = down[i * kGuesses] + up[i * kGuesses] - here;
      if (std::abs(gap) < least) least = std::abs(gap), left = gap, meet = i;
    }
    error = std::numeric_limits<double>::infinity();
    if (meet < 0) return 0;
    double* const v = vector(lane);
    v[meet] = 1;
    double squares = 1;
    for (int64_t i = meet - 1; i >= 0; --i) {
      v[i] = -v[i + 1] * (off_diagonal[i] / down[i * kGuesses]);
      squares += v[i] * v[i];
    }
    for (int64_t i = meet + 1; i < d_; ++i) {
      v[i] = -v[i - 1] * (off_diagonal[i - 1] / up[i * kGuesses]);
      squares += v[i] * v[i];
    }
    const double inverse = 1 / std::sqrt(squares);
    for (int64_t i = 0; i < d_; ++i) v[i] *= inverse;
    error = least * inverse;
    return left / squares;
  }

  const Tridiagonal& t_;
  int64_t d_, count_, used_;
  double size_ = 0;
  EigenvalueGuesses guesses_;
  std::array<double, kGuesses> low_, high_;
  std::array<int64_t, kGuesses> above_low_, above_high_;
  std::vector<double> down_, up_, vectors_;
};

// The largest number that has at least `rank` eigenvalues above it; where a is not null, on the
// directions orthogonal to a.
double largest_below(const Tridiagonal& t, double corner, const double* a, int64_t rank, double low,
                     double high, int narrowings) {
  EigenvalueGuesses guesses = guesses_of(t, corner);
  std::array<int64_t, kGuesses> above;
  for (int step = 0; step < narrowings; ++step) {
    const double part = (high - low) / (kGuesses + 1);
    for (int64_t i = 0; i < kGuesses; ++i) {
      guesses.value[i] = low + static_cast<double>(i + 1) * part;
    }
    if (!(guesses.value[0] > low && guesses.value[kGuesses - 1] < high)) break;
    a == nullptr ? t.kernel().count_above(guesses, above.data())
                 : t.kernel().count_above_without(guesses, a, above.data());
    const int64_t lower =
        std::count_if(above.begin(), above.end(), [&](int64_t n) { return n >= rank; });
    const double from = low;
    if (lower > 0) low = guesses.value[lower - 1];
    if (lower < kGuesses) high = from + static_cast<double>(lower + 1) * part;
  }
  return low + (high - low) / 2;
}

// v = (T - m)⁻¹ a, factorised without row exchanges; one step of refinement corrects the rounding.
std::vector<double> solve(const Tridiagonal& t, double corner, double m,
                          const std::vector<double>& a) {
  const auto d = static_cast<size_t>(t.size());
  std::vector<double> inverse(d), v(a.size()), rest = a, product(d);
  for (size_t i = 0; i < d; ++i) {
    double pivot = (i == 0 ? corner : t.diagonal()[i]) - m;
    if (i > 0) pivot -= t.off_diagonal()[i - 1] * t.off_diagonal()[i - 1] * inverse[i - 1];
    inverse[i] = 1 / pivot;
  }
  for (int step = 0; step <= kRefinements; ++step) {
    for (size_t i = 1; i < d; ++i)
      rest[i] -= t.off_diagonal()[i - 1] * inverse[i - 1] * rest[i - 1];
    for (size_t i = d; i-- > 0;) {
      const double after = i + 1 < d ? t.off_diagonal()[i] * rest[i + 1] : 0;
      rest[i] = (rest[i] - after) * inverse[i];
    }
    for (size_t i = 0; i < d; ++i) v[i] += rest[i];
    multiply(t, corner, m, v.data(), product.data());
    for (size_t i = 0; i < d; ++i) rest[i] = a[i] - product[i];
  }
  return v;
}

}  // namespace

std::optional<LargestEigenpairs> largest_eigenpairs(const Tridiagonal& matrix, int64_t count,
                                                    double less) {
  if (!matrix.usable() || count > std::min(kMostTop, matrix.size())) return std::nullopt;
  EigenvalueSearch search(matrix, count, matrix.diagonal()[0] - less * matrix.corner());
  if (!search.found() || !search.orthogonalize_vectors()) return std::nullopt;
  LargestEigenpairs top;
  for (int64_t i = 0; i <= count; ++i) top.values.push_back(search.value(i) * matrix.scale());
  top.vectors = std::move(search.vectors());
  matrix.from_reduced_basis(top.vectors.data(), count + 1);
  return top;
}

std::optional<Eigenpair> largest_without_direction(const Tridiagonal& matrix,
                                                   const LargestEigenpairs& top, double more,
                                                   std::vector<double> a) {
  const int64_t d = matrix.size();
  if (d < 2 || top.values.size() < 3) return std::nullopt;
  a.resize(static_cast<size_t>(matrix.padded()));
  matrix.to_reduced_basis(a.data());
  const double corner = matrix.diagonal()[0] + more * matrix.corner();
  const double first = top.values[0] / matrix.scale(), second = top.values[1] / matrix.scale();
  const double size = first + more * matrix.corner();
  // By interlacing, the value is at least the second largest eigenvalue.
  const double m = largest_below(matrix, corner, a.data(), 1, second - kExact * size,
                                 size * (1 + kExact), kMostNarrowings);
  std::vector<double> v = solve(matrix, corner, m, a), rest(v.size());
  // Where eigenvalues are close, m is not exact enough to give aᵀv = 0: one Newton step follows.
  if (!(std::abs(dot(v.data(), a.data(), d)) <=
        kOrthogonal * std::sqrt(dot(v.data(), v.data(), d)))) {
    const std::vector<double> change = solve(matrix, corner, m, v);
    const double step = dot(v.data(), a.data(), d) / dot(v.data(), v.data(), d);
    blend(v.data(), 1, -step, change.data(), d);
  }
  const double length = std::sqrt(dot(v.data(), v.data(), d));
  if (!(length > 0) || !std::isfinite(length)) return std::nullopt;
  for (double& one : v) one /= length;
  multiply(matrix, corner, m, v.data(), rest.data());
  blend(rest.data(), 1, -dot(rest.data(), a.data(), d), a.data(), d);
  if (!(dot(rest.data(), rest.data(), d) <= std::pow(kExact * size, 2)) ||
      !(std::abs(dot(v.data(), a.data(), d)) <= kExact)) {
    return std::nullopt;
  }
  matrix.from_reduced_basis(v.data(), 1);
  return Eigenpair{m * matrix.scale(), std::move(v)};
}

double next_value(const Tridiagonal& matrix, double largest, double more, std::vector<double> a) {
  if (!a.empty()) {
    a.resize(static_cast<size_t>(matrix.padded()));
    matrix.to_reduced_basis(a.data());
  }
  const double corner = matrix.diagonal()[0] + more * matrix.corner();
  const double high = largest / matrix.scale();
  return largest_below(matrix, corner, a.empty() ? nullptr : a.data(), 2, 0, high, kFewNarrowings) *
         matrix.scale();
}

}  // namespace ropewalk
