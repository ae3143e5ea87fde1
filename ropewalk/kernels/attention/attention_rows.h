#pragma once

// The body of the CPU's float32 attention, compiled once for each kind of processor
// (attention_avx512.cpp, attention_avx2.cpp). It calls no function of any library, for the reason
// in float_vector.h.
//
// Softmax is computed online (Milakov and Gimelshein 2018; Dao et al. 2022): a tile of query rows
// passes over its keys one block at a time and keeps the largest score and the sum of weights so
// far; earlier sums are scaled down when a larger score turns up. The rows of a KV head are its
// query heads, token by token: row = token * groups + head.

#include "ropewalk/kernels/attention/attention_cpu.h"
#include "ropewalk/kernels/float_vector.h"

namespace ropewalk::cpu {
namespace {

// The size of a tile of scores or of sums: kRows times kColumns vectors fill the registers.
#ifdef __AVX512F__
constexpr int kColumns = 4;
#else
constexpr int kColumns = 2;
#endif
constexpr int kRows = 6;
constexpr int64_t kPanel = kColumns * kLanes;
constexpr int64_t kBlockRows = 32 * kRows;
// With their values, at 64 numbers each, a quarter of the L2 cache.
constexpr int64_t kBlockKeys = 512;
constexpr float kLowest = -3.40282347e38F;
constexpr float kHidden = -__builtin_inff();

using Bits = uint32_t __attribute__((vector_size(kLanes * sizeof(float))));
using Lanes = int32_t __attribute__((vector_size(kLanes * sizeof(float))));

ROPEWALK_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
ROPEWALK_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
ROPEWALK_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// Reduces a vector's lanes to one number, always in the same order.
template <typename Join>
ROPEWALK_INLINE float across(Vector x, Join join) {
  float lane[kLanes];
  store(x, lane);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lane[i] = join(lane[i], lane[i + half]);
  }
  return lane[0];
}

// 2^x for x <= 0, with a relative error of 2e-7; 0 below 2^-126; NaN stays NaN.
ROPEWALK_INLINE Vector power_of_two(Vector x) {
  // 1.5 * 2^23 plus the exponent's bias: adding it rounds x and leaves the exponent in the low bits
  constexpr float kMagic = 12582912.0F + 127;
  x = x < -127.0F ? Vector{} - 127.0F : x;
  const Vector rounded = x + kMagic;
  const Vector rest = x - (rounded - kMagic);
  Vector p = rest * 1.32647273e-3F + 9.67151299e-3F;
  p = p * rest + 5.55073358e-2F;
  p = p * rest + 2.40222424e-1F;
  p = p * rest + 6.93147004e-1F;
  p = p * rest + 1.0F;
  return p * reinterpret_cast<Vector>(reinterpret_cast<Bits>(rounded) << 23);
}

// The rows of one tile and their running sums.
struct Tile {
  const float* queries;   // [kRows, width], scaled
  float* sums;            // [kRows, width]: weights times values
  float* largest;         // [kLanes]: of the scores; only the first kRows are used
  float* totals;          // [kLanes]: of the weights
  int64_t tokens[kRows];  // token of each row, in increasing order
};

// The scores of a tile with the keys of one panel; a score that its row must not see becomes
// kHidden.
ROPEWALK_INLINE void score(const Attention& attention, const Tile& tile, int64_t first_key,
                           const float* keys, float* scores, Vector* largest) {
  const int64_t width = attention.width();
  Vector s[kRows][kColumns] = {};
  for (int64_t i = 0; i < attention.d_head; ++i) {
    Vector key[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) key[c] = load(keys + i * kPanel + c * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float query = tile.queries[r * width + i];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) s[r][c] += query * key[c];
    }
  }
  const bool sees_all = first_key + kPanel <= tile.tokens[0] + 1 &&
                        first_key > tile.tokens[kRows - 1] - attention.window;
  if (!sees_all) {
    Lanes lane;
    for (int64_t i = 0; i < kLanes; ++i) lane[i] = static_cast<int32_t>(i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      // A row sees the keys after `before` up to its own token, both counted from the panel's first
      // key.
      const auto own = static_cast<int32_t>(least(tile.tokens[r] - first_key, kPanel));
      const auto before =
          static_cast<int32_t>(most(tile.tokens[r] - attention.window - first_key, -1));
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const Lanes key = lane + static_cast<int32_t>(c * kLanes);
        s[r][c] = ((key > own) | (key <= before)) ? Vector{} + kHidden : s[r][c];
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      largest[r] = larger(s[r][c], largest[r]);
      store(s[r][c], scores + r * kBlockKeys + c * kLanes);
    }
  }
}

// Turns scores into weights, [kRows, count]; returns the factor for earlier sums.
ROPEWALK_INLINE Vector weigh(const Tile& tile, const Vector* largest, float* scores,
                             int64_t count) {
  const Vector before = load(tile.largest);
  for (int r = 0; r < kRows; ++r) {
    const float found = across(largest[r], [](float a, float b) { return a > b ? a : b; });
    if (found > tile.largest[r]) tile.largest[r] = found;
  }
  const Vector shrink = power_of_two(before - load(tile.largest));
  store(load(tile.totals) * shrink, tile.totals);
  for (int r = 0; r < kRows; ++r) {
    float* row = scores + r * kBlockKeys;
    Vector total = {};
    for (int64_t i = 0; i < count; i += kLanes) {
      const Vector weight = power_of_two(load(row + i) - tile.largest[r]);
      total += weight;
      store(weight, row + i);
    }
    tile.totals[r] += across(total, [](float a, float b) { return a + b; });
  }
  return shrink;
}

// sums = sums * shrink + weights values, for `columns` vectors of every row.
template <int columns>
ROPEWALK_INLINE void add_values(const float* weights, const float* values, int64_t count,
                                int64_t width, Vector shrink, float* sums) {
  Vector sum[kRows][columns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) sum[r][c] = load(sums + r * width + c * kLanes) * shrink[r];
  }
  for (int64_t i = 0; i < count; ++i) {
    Vector value[columns];
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) value[c] = load(values + i * width + c * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float weight = weights[r * kBlockKeys + i];
#pragma GCC unroll 8
      for (int c = 0; c < columns; ++c) sum[r][c] += weight * value[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) store(sum[r][c], sums + r * width + c * kLanes);
  }
}

// Processes a tile with those keys of [begin, end) that some of its rows see; `begin` is a multiple
// of kPanel.
void add_keys(const Attention& attention, const Tile& tile, const float* keys, const float* values,
              int64_t begin, int64_t end, float* scores) {
  const int64_t width = attention.width();
  const int64_t oldest = most(0, tile.tokens[0] - attention.window + 1);
  begin = most(begin, oldest / kPanel * kPanel);
  end = least(end, tile.tokens[kRows - 1] + 1);
  if (begin >= end) return;
  Vector largest[kRows];
  for (Vector& row : largest) row = Vector{} + kHidden;
  int64_t count = 0;
  for (; begin + count < end; count += kPanel) {
    const int64_t first = begin + count;
    score(attention, tile, first, keys + first * width, scores + count, largest);
  }
  const Vector shrink = weigh(tile, largest, scores, count);
  count = end - begin;
  values += begin * width;
  int64_t column = 0;
  for (; column + kPanel <= width; column += kPanel) {
    add_values<kColumns>(scores, values + column, count, width, shrink, tile.sums + column);
  }
  for (; column < width; column += kLanes) {
    add_values<1>(scores, values + column, count, width, shrink, tile.sums + column);
  }
}

int64_t scratch_size(int64_t width) {
  return kBlockRows * 2 * width + kBlockRows / kRows * 2 * kLanes + kRows * kBlockKeys;
}

void pack(const Attention& attention, int64_t kv_head, int64_t panel) {
  const int64_t width = attention.width();
  const int64_t first = panel * kPanel;
  const int64_t panels = (attention.tokens + kPanel - 1) / kPanel;
  const int64_t offset = (kv_head * panels + panel) * kPanel * width;
  float* keys = attention.keys + offset;
  float* values = attention.values + offset;
  const auto number = [&](const TokenVectors& x, int64_t token, int64_t i) {
    const bool is_padding = token >= attention.tokens || i >= attention.d_head;
    return is_padding ? 0 : x.data[kv_head * x.head_stride + token * x.token_stride + i];
  };
  for (int64_t j = 0; j < kPanel; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      keys[i * kPanel + j] = number(attention.k, first + j, i);
      values[j * width + i] = number(attention.v, first + j, i);
    }
  }
}

void attend(const Attention& attention, int64_t kv_head, int64_t block, float* scratch) {
  const int64_t width = attention.width();
  const int64_t d_head = attention.d_head;
  const int64_t groups = attention.groups;
  const int64_t first_row = block * kBlockRows;
  const int64_t rows = least(kBlockRows, attention.tokens * groups - first_row);
  const int64_t padded_rows = (rows + kRows - 1) / kRows * kRows;
  const int64_t panels = (attention.tokens + kPanel - 1) / kPanel;
  const float* keys = attention.keys + kv_head * panels * kPanel * width;
  const float* values = attention.values + kv_head * panels * kPanel * width;
  float* queries = scratch;
  float* sums = queries + kBlockRows * width;
  float* largest = sums + kBlockRows * width;
  float* totals = largest + kBlockRows / kRows * kLanes;
  float* scores = totals + kBlockRows / kRows * kLanes;

  // Rows that fill up the last tile repeat the last row. Scores are in base 2.
  const auto row_of = [&](int64_t i) { return first_row + least(i, rows - 1); };
  const float scale = attention.scale * 1.44269504F;
  for (int64_t i = 0; i < padded_rows; ++i) {
    const int64_t head = kv_head * groups + row_of(i) % groups;
    const float* from = attention.q.data + head * attention.q.head_stride +
                        row_of(i) / groups * attention.q.token_stride;
    for (int64_t j = 0; j < d_head; ++j) queries[i * width + j] = from[j] * scale;
    for (int64_t j = 0; j < width; ++j) sums[i * width + j] = 0;
  }
  for (int64_t i = 0; i < padded_rows / kRows * kLanes; ++i) {
    largest[i] = kLowest;
    totals[i] = 0;
  }

  const int64_t oldest = most(0, row_of(0) / groups - attention.window + 1);
  const int64_t end = row_of(rows - 1) / groups + 1;
  for (int64_t begin = oldest / kPanel * kPanel; begin < end; begin += kBlockKeys) {
    for (int64_t i = 0; i < padded_rows; i += kRows) {
      Tile tile{queries + i * width,
                sums + i * width,
                largest + i / kRows * kLanes,
                totals + i / kRows * kLanes,
                {}};
      for (int r = 0; r < kRows; ++r) tile.tokens[r] = row_of(i + r) / groups;
      add_keys(attention, tile, keys, values, begin, least(begin + kBlockKeys, end), scores);
    }
  }

  for (int64_t i = 0; i < rows; ++i) {
    float* to = attention.out + ((row_of(i) / groups * attention.kv_heads + kv_head) * groups +
                                 row_of(i) % groups) *
                                    d_head;
    const float total = totals[i / kRows * kLanes + i % kRows];
    for (int64_t j = 0; j < d_head; ++j) to[j] = sums[i * width + j] / total;
  }
}

}  // namespace
}  // namespace ropewalk::cpu
