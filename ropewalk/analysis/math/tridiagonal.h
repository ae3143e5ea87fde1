#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/products/tridiagonal_cpu.h"

namespace ropewalk {

// A symmetric matrix as scale · Q T Qᵀ with T tridiagonal, by Householder's reflections. The first
// column of Q is the direction of a given vector, so that adding a multiple of this vector's outer
// product to the matrix changes only one number of T.
class Tridiagonal {
 public:
  // `matrix` is [d, d], of which both triangles are read; the vector `first` is [d] and may be 0.
  Tridiagonal(const double* matrix, const double* first, int64_t d,
              const cpu::TridiagonalKernel& kernel = *cpu::tridiagonal_kernels().front());

  // Whether eigenvalues can be computed: the matrix is finite and not 0.
  bool usable() const { return scale_ > 0; }
  int64_t size() const { return d_; }
  double scale() const { return scale_; }
  const std::vector<double>& diagonal() const { return diagonal_; }
  const std::vector<double>& off_diagonal() const { return off_diagonal_; }  // d - 1 numbers
  // The number that the given vector's outer product adds to the corner of T.
  double corner() const { return corner_; }

  // Vectors to be turned must be padded with zeros to this length.
  int64_t padded() const { return padded_; }
  // Computes x = Qᵀx for one vector.
  void to_reduced_basis(double* x) const;
  // Computes x = Qx for vectors in rows.
  void from_reduced_basis(double* x, int64_t rows) const;

  const cpu::TridiagonalKernel& kernel() const { return *kernel_; }

 private:
  double* row(int64_t i) { return rows_.data() + i * padded_; }
  const double* row(int64_t i) const { return rows_.data() + i * padded_; }
  void reduce(const double* first);

  const cpu::TridiagonalKernel* kernel_;
  int64_t d_, padded_;
  double scale_ = 0, corner_ = 0;
  std::vector<double> diagonal_, off_diagonal_;
  // Row 0 is the reflection for the given vector. Row j + 1 first holds row j of the matrix, and
  // later the reflection for its column j. factors_ belong to these reflections.
  std::vector<double> rows_, factors_;
};

}  // namespace ropewalk
