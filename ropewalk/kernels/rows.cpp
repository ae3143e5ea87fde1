#include "ropewalk/kernels/rows.h"

#include <cmath>

#include "ropewalk/kernels/bfloat16.h"

namespace ropewalk {
namespace {

template <typename T>
ROPEWALK_INLINE void add_rows(double* sum, const NumberRows& rows, int64_t pairs,
                              bool interleaved) {
  const auto length = [](const T& a, const T& b) -> double {
    return std::sqrt(cpu::load(a) * cpu::load(a) + cpu::load(b) * cpu::load(b));
  };
  for (int64_t row = 0; row < rows.count; ++row) {
    const T* x = static_cast<const T*>(rows.data) + row * rows.stride;
    if (interleaved) {
#pragma GCC ivdep
      for (int64_t f = 0; f < pairs; ++f) sum[f] += length(x[2 * f], x[2 * f + 1]);
    } else {
#pragma GCC ivdep
      for (int64_t f = 0; f < pairs; ++f) sum[f] += length(x[f], x[pairs + f]);
    }
  }
}

}  // namespace

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

ROPEWALK_CLONES void add_lengths(double* sum, const NumberRows& rows, int64_t pairs,
                                 bool interleaved) {
  if (rows.bfloat16) return add_rows<cpu::Bfloat16>(sum, rows, pairs, interleaved);
  add_rows<float>(sum, rows, pairs, interleaved);
}

}  // namespace ropewalk
