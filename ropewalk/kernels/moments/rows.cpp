#include "ropewalk/kernels/moments/rows.h"

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

template <typename Vector>
ROPEWALK_INLINE void load(Vector& value, const double* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}
template <typename Vector>
ROPEWALK_INLINE void store(const Vector& value, double* x) {
  __builtin_memcpy(x, &value, sizeof(value));
}

// y += x m, for kRows rows and `depth` rows of m, kVectors at a time.
template <typename Vector, int kVectors, int kRows>
ROPEWALK_INLINE void add_products(double* y, const double* x, const double* m, int64_t depth,
                                  int64_t d) {
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(double), kColumns = kVectors * kLanes;
  int64_t j = 0;
  for (; j + kColumns <= d; j += kColumns) {
    Vector sum[kRows][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) load(sum[r][c], y + r * d + j + c * kLanes);
    }
    for (int64_t k = 0; k < depth; ++k) {
      Vector row[kVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) load(row[c], m + k * d + j + c * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kVectors; ++c) sum[r][c] += x[r * d + k] * row[c];
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) store(sum[r][c], y + r * d + j + c * kLanes);
    }
  }
  for (; j < d; ++j) {
    for (int r = 0; r < kRows; ++r) {
      for (int64_t k = 0; k < depth; ++k) y[r * d + j] += x[r * d + k] * m[k * d + j];
    }
  }
}

// The matrix is read in order, a few rows at a time, which stay in the cache for all rows of x.
template <typename Vector, int kVectors>
ROPEWALK_INLINE void multiply(double* y, const double* x, int64_t rows, const double* m,
                              int64_t d) {
  constexpr int64_t kDeep = 16, kTogether = 16, kAtOnce = 4;
  for (int64_t i = 0; i < rows * d; ++i) y[i] = 0;
  for (int64_t first = 0; first < rows; first += kTogether) {
    const int64_t end = first + kTogether < rows ? first + kTogether : rows;
    for (int64_t k = 0; k < d; k += kDeep) {
      const int64_t depth = k + kDeep < d ? kDeep : d - k;
      int64_t r = first;
      for (; r + kAtOnce <= end; r += kAtOnce) {
        add_products<Vector, kVectors, kAtOnce>(y + r * d, x + r * d + k, m + k * d, depth, d);
      }
      if (end - r == 3) {
        add_products<Vector, kVectors, 3>(y + r * d, x + r * d + k, m + k * d, depth, d);
      } else if (end - r == 2) {
        add_products<Vector, kVectors, 2>(y + r * d, x + r * d + k, m + k * d, depth, d);
      } else if (end - r == 1) {
        add_products<Vector, kVectors, 1>(y + r * d, x + r * d + k, m + k * d, depth, d);
      }
    }
  }
}

// The sums of four rows fill the registers.
using Quad = double __attribute__((vector_size(4 * sizeof(double))));
ROPEWALK_CLONES void multiply_by_quads(double* y, const double* x, int64_t rows, const double* m,
                                       int64_t d) {
  multiply<Quad, 2>(y, x, rows, m, d);
}

#ifdef ROPEWALK_WIDE
using Octet = double __attribute__((vector_size(8 * sizeof(double))));
ROPEWALK_WIDE void multiply_by_octets(double* y, const double* x, int64_t rows, const double* m,
                                      int64_t d) {
  multiply<Octet, 4>(y, x, rows, m, d);
}
#endif

}  // namespace

void multiply_rows(double* y, const double* x, int64_t rows, const double* m, int64_t d) {
#ifdef ROPEWALK_WIDE
  static const bool wide = __builtin_cpu_supports("x86-64-v4");
  if (wide) return multiply_by_octets(y, x, rows, m, d);
#endif
  multiply_by_quads(y, x, rows, m, d);
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
