#include "ropewalk/kernels/rows.h"

#include <cmath>

#include "ropewalk/kernels/clones.h"

namespace ropewalk {

ROPEWALK_CLONES double dot(const double* a, const double* b, int64_t d) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < d; ++i) sum += a[i] * b[i];
  return sum;
}

ROPEWALK_CLONES void blend(double* y, double scale, double weight, const double* x, int64_t d) {
#pragma omp simd
  for (int64_t i = 0; i < d; ++i) y[i] = scale * y[i] + weight * x[i];
}

ROPEWALK_CLONES void add_lengths(double* sum, const float* x, int64_t rows, int64_t stride,
                                 int64_t pairs, bool interleaved) {
  const auto length = [](float a, float b) -> double { return std::sqrt(a * a + b * b); };
  for (int64_t row = 0; row < rows; ++row, x += stride) {
    if (interleaved) {
#pragma GCC ivdep
      for (int64_t f = 0; f < pairs; ++f) sum[f] += length(x[2 * f], x[2 * f + 1]);
    } else {
#pragma GCC ivdep
      for (int64_t f = 0; f < pairs; ++f) sum[f] += length(x[f], x[pairs + f]);
    }
  }
}

}  // namespace ropewalk
