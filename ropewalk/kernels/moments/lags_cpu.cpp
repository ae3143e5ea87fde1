#include "ropewalk/kernels/moments/lags_cpu.h"

#include <algorithm>

#include "ropewalk/kernels/clones.h"

namespace ropewalk {
namespace {

// The number of queries that stay in a core's cache while all lags are summed.
constexpr int64_t kChunk = 256;
constexpr int64_t kLanes = 16;
constexpr int64_t kRows = 4;  // tokens at once

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Half = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));
using Quad = float __attribute__((vector_size(kRows * sizeof(float))));

ROPEWALK_INLINE void load(Lanes& value, const float* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}

ROPEWALK_INLINE void halve(const Lanes& x, Half& half) {
  half = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}

// The sums of the lanes of four vectors.
ROPEWALK_INLINE void sums(const Lanes (&x)[kRows], Quad& sum) {
  Half a, b, c, e;
  halve(x[0], a), halve(x[1], b), halve(x[2], c), halve(x[3], e);
  const Half ab = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
                  __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  const Half ce = __builtin_shufflevector(c, e, 0, 8, 2, 10, 4, 12, 6, 14) +
                  __builtin_shufflevector(c, e, 1, 9, 3, 11, 5, 13, 7, 15);
  const Half all = __builtin_shufflevector(ab, ce, 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(ab, ce, 2, 3, 10, 11, 6, 7, 14, 15);
  sum =
      __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7);
}

// The dot products of `rows` rows of q with as many rows of k; 0 for missing rows.
template <int64_t rows>
ROPEWALK_INLINE void dots(const float* q, const float* k, int64_t d, Quad& result) {
  Lanes products[kRows] = {};
  int64_t i = 0;
  for (; i + kLanes <= d; i += kLanes) {
    for (int64_t r = 0; r < rows; ++r) {
      Lanes a, b;
      load(a, q + r * d + i);
      load(b, k + r * d + i);
      products[r] += a * b;
    }
  }
  sums(products, result);
  for (; i < d; ++i) {
    for (int64_t r = 0; r < rows; ++r) result[r] += q[r * d + i] * k[r * d + i];
  }
}

struct LagSum {
  double logits = 0;
  double squares = 0;

  ROPEWALK_INLINE void add(const Quad& some) {
    for (int64_t r = 0; r < kRows; ++r) {
      const double logit = some[r];
      logits += logit;
      squares += logit * logit;
    }
  }
};

}  // namespace

ROPEWALK_CLONES void sum_lags(const float* q, const float* k, int64_t from, int64_t to, int64_t d,
                              const int64_t* lags, int64_t lag_count, double* sum,
                              double* squares) {
  const int64_t first = from;
  for (; from < to; from += kChunk) {
    const int64_t end = std::min(from + kChunk, to);
    for (int64_t i = 0; i < lag_count && lags[i] < end; ++i) {
      LagSum found;
      Quad some;
      int64_t t = std::max(from, lags[i]);
      for (; t + kRows <= end; t += kRows) {
        dots<kRows>(q + (t - first) * d, k + (t - lags[i]) * d, d, some);
        found.add(some);
      }
      for (; t < end; ++t) {
        dots<1>(q + (t - first) * d, k + (t - lags[i]) * d, d, some);
        found.add(some);
      }
      sum[i] += found.logits;
      squares[i] += found.squares;
    }
  }
}

}  // namespace ropewalk
