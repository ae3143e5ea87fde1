#include "ropewalk/kernels/rows/moved_key_loops.h"

#include <algorithm>

#include "ropewalk/kernels/clones.h"

namespace ropewalk {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kTile = kMovedKeyTile;
static_assert(kTile == 2 * kLanes);
constexpr int64_t kMostLines = 4;  // queries at once

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Places = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));

ROPEWALK_INLINE void load(Lanes& value, const float* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}

ROPEWALK_INLINE double total(const Lanes& x) {
  double sum = 0;
  for (int64_t i = 0; i < kLanes; ++i) sum += x[i];
  return sum;
}

// Products of `lines` queries, d apart, with the keys of a tile.
template <int64_t lines>
ROPEWALK_INLINE void multiply_tile(const float* queries, int64_t d, const float* keys,
                                   int64_t stride, float* made, int64_t size) {
  Lanes first[lines] = {}, second[lines] = {};
  for (int64_t i = 0; i < d; ++i) {
    Lanes a, b;
    load(a, keys + i * stride);
    load(b, keys + i * stride + kLanes);
    for (int64_t line = 0; line < lines; ++line) {
      first[line] += queries[line * d + i] * a;
      second[line] += queries[line * d + i] * b;
    }
  }
  for (int64_t line = 0; line < lines; ++line) {
    __builtin_memcpy(made + line * size, &first[line], sizeof(Lanes));
    __builtin_memcpy(made + line * size + kLanes, &second[line], sizeof(Lanes));
  }
}

}  // namespace

ROPEWALK_CLONES void multiply_keys(const float* queries, int64_t lines, int64_t d,
                                   const float* keys, int64_t stride, int64_t count, float* made,
                                   int64_t size) {
  for (int64_t key = 0; key < count; key += kTile) {
    for (int64_t line = 0; line < lines; line += kMostLines) {
      const float* q = queries + line * d;
      float* to = made + line * size + key;
      switch (std::min(kMostLines, lines - line)) {
        case 1:
          multiply_tile<1>(q, d, keys + key, stride, to, size);
          break;
        case 2:
          multiply_tile<2>(q, d, keys + key, stride, to, size);
          break;
        case 3:
          multiply_tile<3>(q, d, keys + key, stride, to, size);
          break;
        default:
          multiply_tile<4>(q, d, keys + key, stride, to, size);
      }
    }
  }
}

ROPEWALK_CLONES void add_products(const float* moved, const float* key, const float* place,
                                  int64_t count, float mean, MovedSums& sums) {
  Lanes x_sum = {}, squares = {}, with_key = {}, with_place = {};
  Places place_of{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (int64_t i = 0; i < count; i += kLanes) {
    Lanes x, a, b;
    load(x, moved + i);
    load(a, key + i);
    load(b, place + i);
    x -= mean;
    if (count - i < kLanes) {
      const Places there = place_of < static_cast<int32_t>(count - i);
      x = there ? x : Lanes{};
    }
    x_sum += x;
    squares += x * x;
    with_key += x * a;
    with_place += x * b;
  }
  sums.x += total(x_sum);
  sums.squares += total(squares);
  sums.with_key += total(with_key);
  sums.with_place += total(with_place);
}

ROPEWALK_CLONES double sum_of(const float* x, int64_t count, double& squares) {
  Lanes sum = {}, square = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes some;
    load(some, x + i);
    sum += some;
    square += some * some;
  }
  double all = total(sum);
  squares = total(square);
  for (; i < count; ++i) {
    all += x[i];
    squares += static_cast<double>(x[i]) * x[i];
  }
  return all;
}

ROPEWALK_CLONES void subtract(const float* x, int64_t count, float mean, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = x[i] - mean;
}

ROPEWALK_CLONES void turn_pairs(const float* x, const float* cos, const float* sin, int64_t count,
                                int64_t step, int64_t apart, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float a = x[i * step], b = x[i * step + apart];
    to[i * step] = a * cos[i] + b * sin[i];
    to[i * step + apart] = b * cos[i] - a * sin[i];
  }
}

}  // namespace ropewalk
