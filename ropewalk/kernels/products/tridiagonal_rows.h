#pragma once

// The loops of an eigenproblem, compiled once for each kind of processor (tridiagonal_avx512.cpp,
// tridiagonal_avx2.cpp, and tridiagonal_cpu.cpp for all others). They call no function of any
// library: a linker keeps one copy of an inline function, and it might keep one that other
// processors cannot run.

#include "ropewalk/kernels/clones.h"
#include "ropewalk/kernels/products/tridiagonal_cpu.h"

namespace ropewalk::cpu {
namespace {

#ifdef __AVX512F__
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
constexpr int64_t kRows = 4;  // at once
constexpr int kQuads = kGuesses / 4;
// A pivot of 0 gives an infinite one after it and then a usual one, which counts correctly; only a
// 0 next to the diagonal must not be combined with it.
constexpr double kSmallest = 1e-290;

using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));
using Quad = double __attribute__((vector_size(4 * sizeof(double))));
using Bits = uint64_t __attribute__((vector_size(4 * sizeof(double))));

template <typename T>
ROPEWALK_INLINE void load(T& value, const double* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}
template <typename T>
ROPEWALK_INLINE void store(const T& value, double* x) {
  __builtin_memcpy(x, &value, sizeof(value));
}

ROPEWALK_INLINE void halve(const Vector& x, Quad& half) {
#ifdef __AVX512F__
  half = __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
  half = x;
#endif
}

// The sums of the lanes of four vectors.
ROPEWALK_INLINE void sums(const Vector (&x)[kRows], Quad& sum) {
  Quad a, b, c, e;
  halve(x[0], a), halve(x[1], b), halve(x[2], c), halve(x[3], e);
  const Quad ab =
      __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Quad ce =
      __builtin_shufflevector(c, e, 0, 4, 2, 6) + __builtin_shufflevector(c, e, 1, 5, 3, 7);
  sum = __builtin_shufflevector(ab, ce, 0, 1, 4, 5) + __builtin_shufflevector(ab, ce, 2, 3, 6, 7);
}

// Subtracts v wⱼ + w vⱼ from a piece of a row; a is the result.
ROPEWALK_INLINE void update(double* piece, double v, double w, const Vector& vj, const Vector& wj,
                            Vector& a) {
  load(a, piece);
  a = a - v * wj - w * vj;
  store(a, piece);
}

void update_and_multiply(double* matrix, int64_t padded, int64_t from, const double* v,
                         const double* w, const double* x, double* product) {
  for (int64_t i = from / kRows * kRows; i < padded; i += kRows) {
    double* const rows = matrix + i * padded;
    const double *vi = v + i, *wi = w + i, *xi = x + i;
    Vector along[kRows] = {};
    int64_t j = i / kRowWidth * kRowWidth;
    for (const int64_t end = j + kRowWidth; j < end; j += kLanes) {
      Vector vj, wj, xj;
      load(vj, v + j), load(wj, w + j), load(xj, x + j);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        Vector a;
        update(rows + r * padded + j, vi[r], wi[r], vj, wj, a);
        along[r] += a * xj;
      }
    }
    for (; j < padded; j += kLanes) {
      Vector vj, wj, xj, sum;
      load(vj, v + j), load(wj, w + j), load(xj, x + j), load(sum, product + j);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        Vector a;
        update(rows + r * padded + j, vi[r], wi[r], vj, wj, a);
        along[r] += a * xj;
        sum += a * xi[r];
      }
      store(sum, product + j);
    }
    Quad own, sum;
    load(own, product + i);
    sums(along, sum);
    store(own + sum, product + i);
  }
}

template <int64_t kCount>
ROPEWALK_INLINE void reflect_rows(double* x, int64_t stride, const double* v, double factor,
                                  int64_t d) {
  Vector along[kRows] = {};
  for (int64_t j = 0; j < d; j += kLanes) {
    Vector vj, a;
    load(vj, v + j);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kCount; ++r) {
      load(a, x + r * stride + j);
      along[r] += a * vj;
    }
  }
  Quad sum;
  sums(along, sum);
  sum *= factor;
  for (int64_t j = 0; j < d; j += kLanes) {
    Vector vj, a;
    load(vj, v + j);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kCount; ++r) {
      load(a, x + r * stride + j);
      store(a - sum[r] * vj, x + r * stride + j);
    }
  }
}

void reflect(double* x, int64_t rows, int64_t stride, const double* v, double factor, int64_t d) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) reflect_rows<kRows>(x + i * stride, stride, v, factor, d);
  for (; i < rows; ++i) reflect_rows<1>(x + i * stride, stride, v, factor, d);
}

ROPEWALK_INLINE double square(double x) { return x * x + kSmallest; }

ROPEWALK_INLINE void negative(const Quad& x, Bits& bit) {
  __builtin_memcpy(&bit, &x, sizeof(bit));
  bit >>= 63;
}

ROPEWALK_INLINE void rest_above(const Bits (&below)[kQuads], int64_t d, int64_t* above) {
  __builtin_memcpy(above, &below, sizeof(below));
  for (int64_t i = 0; i < kGuesses; ++i) above[i] = d - above[i];
}

void count_above(const EigenvalueGuesses& guesses, int64_t* above) {
  Quad m[kQuads], q[kQuads];
  Bits below[kQuads], bit;
  load(m, guesses.value);
  load(q, guesses.corner);
  for (int t = 0; t < kQuads; ++t) {
    q[t] -= m[t];
    negative(q[t], below[t]);
  }
  for (int64_t i = 1; i < guesses.d; ++i) {
    const double here = guesses.diagonal[i], b = square(guesses.off_diagonal[i - 1]);
#pragma GCC unroll 4
    for (int t = 0; t < kQuads; ++t) {
      q[t] = (here - m[t]) - b / q[t];
      negative(q[t], bit);
      below[t] += bit;
    }
  }
  rest_above(below, guesses.d, above);
}

void count_above_without(const EigenvalueGuesses& guesses, const double* a, int64_t* above) {
  Quad m[kQuads], inverse[kQuads], y[kQuads], sum[kQuads];
  Bits below[kQuads], bit;
  load(m, guesses.value);
  load(inverse, guesses.corner);
  for (int t = 0; t < kQuads; ++t) {
    inverse[t] = 1 / (inverse[t] - m[t]);
    y[t] = a[0] + (m[t] - m[t]);
    sum[t] = -y[t] * y[t] * inverse[t];
    negative(inverse[t], below[t]);
  }
  for (int64_t i = 1; i < guesses.d; ++i) {
    const double here = guesses.diagonal[i], b = guesses.off_diagonal[i - 1], ai = a[i];
#pragma GCC unroll 4
    for (int t = 0; t < kQuads; ++t) {
      const Quad factor = b * inverse[t];
      y[t] = ai - factor * y[t];
      inverse[t] = 1 / ((here - m[t]) - factor * b);
      sum[t] -= y[t] * y[t] * inverse[t];
      negative(inverse[t], bit);
      below[t] += bit;
    }
  }
  // Bordered by a, T has one more positive and one more negative eigenvalue than on the directions
  // orthogonal to a.
  for (int t = 0; t < kQuads; ++t) {
    negative(sum[t], bit);
    below[t] += bit;
  }
  rest_above(below, guesses.d, above);
}

void pivots(const EigenvalueGuesses& guesses, double* down, double* up) {
  const int64_t last = guesses.d - 1;
  Quad m[kQuads], corner[kQuads], q[kQuads];
  load(m, guesses.value);
  load(corner, guesses.corner);
  for (int t = 0; t < kQuads; ++t) q[t] = corner[t] - m[t];
  store(q, down);
  for (int64_t i = 1; i <= last; ++i) {
    const double here = guesses.diagonal[i], b = square(guesses.off_diagonal[i - 1]);
#pragma GCC unroll 4
    for (int t = 0; t < kQuads; ++t) q[t] = (here - m[t]) - b / q[t];
    store(q, down + i * kGuesses);
  }
  for (int t = 0; t < kQuads; ++t)
    q[t] = last > 0 ? guesses.diagonal[last] - m[t] : corner[t] - m[t];
  store(q, up + last * kGuesses);
  for (int64_t i = last - 1; i >= 0; --i) {
    const double b = square(guesses.off_diagonal[i]);
#pragma GCC unroll 4
    for (int t = 0; t < kQuads; ++t) {
      q[t] = (i > 0 ? guesses.diagonal[i] - m[t] : corner[t] - m[t]) - b / q[t];
    }
    store(q, up + i * kGuesses);
  }
}

constexpr TridiagonalKernel tridiagonal_kernel(const char* name) {
  return {name, update_and_multiply, reflect, count_above, count_above_without, pivots};
}

}  // namespace
}  // namespace ropewalk::cpu
