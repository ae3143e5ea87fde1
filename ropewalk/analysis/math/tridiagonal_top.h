#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ropewalk/analysis/math/tridiagonal.h"

namespace ropewalk {

// The largest eigenvalues of a matrix, decreasing, with their vectors, and as the last one the
// largest pair after `less` times the square of the reduction's first vector is taken from the
// matrix. By counting eigenvalues above guesses (Sturm), and vectors from factors that meet where
// these are largest (Fernando 1997), whose quotients lead to the eigenvalues. Nothing where an
// eigenvalue could not be told from its neighbours, or the vectors do not hold.
struct LargestEigenpairs {
  std::vector<double> values;   // [count + 1]
  std::vector<double> vectors;  // [count + 1, padded], of length 1; signs as they come
};
std::optional<LargestEigenpairs> largest_eigenpairs(const Tridiagonal& matrix, int64_t count,
                                                    double less);
inline constexpr int64_t kMostTop = cpu::kGuesses - 1;

// The largest pair among directions orthogonal to a, of length 1, after `more` times that square is
// added: where aᵀ(M - m)⁻¹a is 0 (Golub 1973). `top` bounds it.
struct Eigenpair {
  double value = 0;
  std::vector<double> vector;  // padded
};
std::optional<Eigenpair> largest_without_direction(const Tridiagonal& matrix,
                                                   const LargestEigenpairs& top, double more,
                                                   std::vector<double> a);

// The eigenvalue after the largest one of a matrix that has none below 0, to 12 digits of that one,
// after `more` times that square is added; among directions orthogonal to a, unless a is empty.
double next_value(const Tridiagonal& matrix, double largest, double more, std::vector<double> a);

}  // namespace ropewalk
