#pragma once

#include <cstdint>
#include <span>

namespace ropewalk::cpu {

// Rows of matrices begin and end at multiples of this, padded with zeros.
inline constexpr int64_t kRowWidth = 8;

// Several guesses at eigenvalues of a tridiagonal matrix T, which are evaluated together.
inline constexpr int64_t kGuesses = 16;
struct EigenvalueGuesses {
  int64_t d = 0;
  const double* diagonal = nullptr;      // d numbers
  const double* off_diagonal = nullptr;  // d - 1 numbers next to the diagonal
  double corner[kGuesses] = {};          // replaces the first number of the diagonal
  double value[kGuesses] = {};
};

// The loops of an eigenproblem (analysis/math/tridiagonal.h, analysis/math/tridiagonal_top.h).
struct TridiagonalKernel {
  const char* name;
  // For rows and columns `from` to `padded` of a symmetric matrix, subtracts v wᵀ + w vᵀ, and adds
  // the remaining matrix times x to the product, in one pass. The matrix is stored in blocks of
  // kRowWidth rows and columns, and blocks left of the diagonal are ignored; v, w and x are 0
  // before `from`.
  void (*update_and_multiply)(double* matrix, int64_t padded, int64_t from, const double* v,
                              const double* w, const double* x, double* product);
  // x -= factor · v (vᵀx) for the rows of x; d is a multiple of kRowWidth.
  void (*reflect)(double* x, int64_t rows, int64_t stride, const double* v, double factor,
                  int64_t d);
  // The number of eigenvalues of T above each guess, by Sylvester's law for the factors L D Lᵀ of T
  // - m.
  void (*count_above)(const EigenvalueGuesses& guesses, int64_t* above);
  // The number of eigenvalues above each guess of T restricted to the directions orthogonal to a,
  // by the sign of aᵀ(T - m)⁻¹a.
  void (*count_above_without)(const EigenvalueGuesses& guesses, const double* a, int64_t* above);
  // D of the factors of T - m, from the first row down and from the last row up: [d, kGuesses].
  void (*pivots)(const EigenvalueGuesses& guesses, double* down, double* up);
};

// The kernels that this processor can run, the fastest first; the last one runs on all.
std::span<const TridiagonalKernel* const> tridiagonal_kernels();

}  // namespace ropewalk::cpu
