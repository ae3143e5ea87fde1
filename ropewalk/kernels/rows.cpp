#include "ropewalk/kernels/rows.h"

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

}  // namespace ropewalk
