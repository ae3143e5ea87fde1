#pragma once

#include <cstdint>
#include <span>

namespace ropewalk::cpu {

// Rows of matrices begin and end at multiples of this, padded with zeros.
inline constexpr int64_t kRowWidth = 8;

// Guesses at eigenvalues of a tridiagonal matrix T that are looked at together.
inline constexpr int64_t kGuesses = 16;
struct EigenvalueGuesses {
  int64_t d = 0;
  const double* diagonal = nullptr;      // d
  const double* off_diagonal = nullptr;  // d - 1
  double corner[kGuesses] = {};          // instead of the diagonal's first number
  double value[kGuesses] = {};
};

// The loops of an eigenproblem (analysis/math/tridiagonal.h, analysis/math/tridiagonal_top.h).
struct TridiagonalKernel {
  const char* name;
  // Of rows and columns `from` to `padded` of a symmetric matrix: takes v wᵀ + w vᵀ from it, and
  // adds what is left times x to the product, in one pass. The matrix is stored in blocks of
  // kRowWidth rows and columns, of which those left of the diagonal are not looked at; v, w and x
  // are 0 before `from`.
  void (*update_and_multiply)(double* matrix, int64_t padded, int64_t from, const double* v,
                              const double* w, const double* x, double* product);
  // x -= factor · v (vᵀx) of the rows of x; d is a multiple of kRowWidth.
  void (*reflect)(double* x, int64_t rows, int64_t stride, const double* v, double factor,
                  int64_t d);
  // How many eigenvalues of T lie above each guess: Sylvester's law for the factors L D Lᵀ of
  // T - m.
  void (*count_above)(const EigenvalueGuesses& guesses, int64_t* above);
  // The same for T on the directions orthogonal to a, by the sign of aᵀ(T - m)⁻¹a.
  void (*count_above_without)(const EigenvalueGuesses& guesses, const double* a, int64_t* above);
  // D of the factors of T - m from the first row down, and from the last row up: [d, kGuesses].
  void (*pivots)(const EigenvalueGuesses& guesses, double* down, double* up);
};

// What this processor can run, the fastest first; the last one runs on all.
std::span<const TridiagonalKernel* const> tridiagonal_kernels();

}  // namespace ropewalk::cpu
