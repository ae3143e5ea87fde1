#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ropewalk/analysis/math/tridiagonal.h"

namespace ropewalk {

// The `count` largest eigenvalues of a matrix M in decreasing order, with their eigenvectors, and
// one more pair at the end: the largest pair of M - less * vv^T, where v is the first vector of the
// tridiagonal reduction and `less` is the parameter of largest_eigenpairs. Eigenvalues are
// bracketed by counting how many lie above a guess (Sturm) and refined by Rayleigh quotients;
// vectors come from factorisations that meet at the vector's largest component (Fernando 1997).
// Empty where an eigenvalue is too close to its neighbours, or where the vectors are not exact
// enough.
struct LargestEigenpairs {
  std::vector<double> values;   // [count + 1]
  std::vector<double> vectors;  // [count + 1, padded], of length 1, with arbitrary signs
};
std::optional<LargestEigenpairs> largest_eigenpairs(const Tridiagonal& matrix, int64_t count,
                                                    double less);
inline constexpr int64_t kMostTop = cpu::kGuesses - 1;

// The largest pair among the directions orthogonal to a, which has length 1, after `more` times the
// outer product of the reduction's first vector was added: the root of aᵀ(M - m)⁻¹a (Golub 1973).
// `top` is an upper bound.
struct Eigenpair {
  double value = 0;
  std::vector<double> vector;  // padded
};
std::optional<Eigenpair> largest_without_direction(const Tridiagonal& matrix,
                                                   const LargestEigenpairs& top, double more,
                                                   std::vector<double> a);

// The second largest eigenvalue of a matrix without negative ones, exact to 12 digits of the
// largest, after `more` times that outer product was added; where a is not empty, among the
// directions orthogonal to a.
double next_value(const Tridiagonal& matrix, double largest, double more, std::vector<double> a);

}  // namespace ropewalk
