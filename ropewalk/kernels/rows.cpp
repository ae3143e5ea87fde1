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

using Quad = double __attribute__((vector_size(4 * sizeof(double))));

// One at a time: two together would go through memory.
ROPEWALK_INLINE void load(Quad& value, const double* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}
ROPEWALK_INLINE void store(const Quad& value, double* x) {
  __builtin_memcpy(x, &value, sizeof(value));
}

// y += x m, of `depth` rows of m.
template <int64_t kRows>
ROPEWALK_INLINE void add_products(double* y, const double* x, const double* m, int64_t depth,
                                  int64_t d) {
  constexpr int64_t kColumns = 8;
  int64_t j = 0;
  for (; j + kColumns <= d; j += kColumns) {
    Quad sum[kRows][2];
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      load(sum[r][0], y + r * d + j);
      load(sum[r][1], y + r * d + j + kColumns / 2);
    }
    for (int64_t k = 0; k < depth; ++k) {
      Quad row[2];
      load(row[0], m + k * d + j);
      load(row[1], m + k * d + j + kColumns / 2);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        sum[r][0] += x[r * d + k] * row[0];
        sum[r][1] += x[r * d + k] * row[1];
      }
    }
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      store(sum[r][0], y + r * d + j);
      store(sum[r][1], y + r * d + j + kColumns / 2);
    }
  }
  for (; j < d; ++j) {
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t k = 0; k < depth; ++k) y[r * d + j] += x[r * d + k] * m[k * d + j];
    }
  }
}

}  // namespace

// The matrix is read in order, a few rows at a time that stay in the cache for all rows of x.
ROPEWALK_CLONES void multiply_rows(double* y, const double* x, int64_t rows, const double* m,
                                   int64_t d) {
  constexpr int64_t kDeep = 16, kTogether = 16, kAtOnce = 4;
  for (int64_t i = 0; i < rows * d; ++i) y[i] = 0;
  for (int64_t first = 0; first < rows; first += kTogether) {
    const int64_t end = first + kTogether < rows ? first + kTogether : rows;
    for (int64_t k = 0; k < d; k += kDeep) {
      const int64_t depth = k + kDeep < d ? kDeep : d - k;
      int64_t r = first;
      for (; r + kAtOnce <= end; r += kAtOnce) {
        add_products<kAtOnce>(y + r * d, x + r * d + k, m + k * d, depth, d);
      }
      for (; r < end; ++r) add_products<1>(y + r * d, x + r * d + k, m + k * d, depth, d);
    }
  }
}

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
