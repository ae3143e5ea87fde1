#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/products/tridiagonal_cpu.h"

namespace ropewalk {

// A symmetric matrix as scale · Q T Qᵀ with T tridiagonal, by Householder's reflections. The first
// column of Q is the direction of a given vector, so that adding a multiple of that vector's square
// to the matrix changes T in one number.
class Tridiagonal {
 public:
  // From a matrix [d, d], of which both triangles are read, and a vector [d], which may be 0.
  Tridiagonal(const double* matrix, const double* first, int64_t d,
              const cpu::TridiagonalKernel& kernel = *cpu::tridiagonal_kernels().front());

  // Whether there are eigenvalues to seek: the matrix is finite and not 0.
  bool usable() const { return scale_ > 0; }
  int64_t size() const { return d_; }
  double scale() const { return scale_; }
  const std::vector<double>& diagonal() const { return diagonal_; }
  const std::vector<double>& off_diagonal() const { return off_diagonal_; }  // d - 1 numbers
  // What the square of the given vector is in the corner of T.
  double corner() const { return corner_; }

  // Vectors to be turned are padded with zeros to this length.
  int64_t padded() const { return padded_; }
  // x = Qᵀx of one vector.
  void turn(double* x) const;
  // x = Qx of vectors in rows.
  void turn_back(double* x, int64_t rows) const;

  const cpu::TridiagonalKernel& kernel() const { return *kernel_; }

 private:
  double* row(int64_t i) { return rows_.data() + i * padded_; }
  const double* row(int64_t i) const { return rows_.data() + i * padded_; }
  void reduce(const double* first);

  const cpu::TridiagonalKernel* kernel_;
  int64_t d_, padded_;
  double scale_ = 0, corner_ = 0;
  std::vector<double> diagonal_, off_diagonal_;
  // Row 0 is the reflection for the given vector, and row j + 1 that of column j of the matrix,
  // which has the matrix's row until then; factors_ are theirs.
  std::vector<double> rows_, factors_;
};

}  // namespace ropewalk
