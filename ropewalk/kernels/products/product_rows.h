#pragma once

// The body of the CPU's float32 products, compiled once for each kind of processor
// (product_avx512.cpp, product_avx2.cpp). It calls no function of any library, for the reason in
// float_vector.h.

#include "ropewalk/kernels/float_vector.h"
#include "ropewalk/kernels/products/product_cpu.h"

namespace ropewalk::cpu {
namespace {

// The size of a tile of sums: kRows times kColumns vectors fill the registers.
#ifdef __AVX512F__
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif
constexpr int kColumns = 2;

// sums = rows weights for the first slice, sums += for later ones: kRows rows and kColumns vectors
// of a panel. x is [depth / kGroup, kRows, kGroup].
ROPEWALK_INLINE void multiply_tile(const float* x, const float* weights, int64_t depth, bool first,
                                   float* sums, int64_t stride) {
  Vector s[kRows][kColumns] = {};
  for (; depth > 0; depth -= kGroup, x += kRows * kGroup) {
    const int64_t steps = depth < kGroup ? depth : kGroup;
    for (int64_t i = 0; i < steps; ++i, weights += kPanel) {
      Vector weight[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) weight[c] = load(weights + c * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float number = x[r * kGroup + i];
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) s[r][c] += number * weight[c];
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      float* sum = sums + r * stride + c * kLanes;
      store(first ? s[r][c] : load(sum) + s[r][c], sum);
    }
  }
}

void copy_rows(const FloatRows& rows, int64_t depth, float* block) {
  const int64_t whole = depth / kGroup * kGroup;
  const int64_t groups = (depth + kGroup - 1) / kGroup;
  for (int64_t i = 0; i < rows.count; ++i) {
    const float* from = rows.data + i * rows.stride;
    float* to = block + (i / kRows * kRows * groups + i % kRows) * kGroup;
    for (int64_t k = 0; k < whole; k += kGroup) {
      for (int64_t l = 0; l < kGroup; l += kLanes) store(load(from + k + l), to + k * kRows + l);
    }
    for (int64_t k = whole; k < depth; ++k) to[whole * kRows + k - whole] = from[k];
  }
  // Rows that fill up the last tile.
  for (int64_t i = rows.count; i % kRows != 0; ++i) {
    float* to = block + (i / kRows * kRows * groups + i % kRows) * kGroup;
    for (int64_t k = 0; k < groups * kGroup; k += kGroup) {
      for (int64_t l = 0; l < kGroup; l += kLanes) store(Vector{}, to + k * kRows + l);
    }
  }
}

void multiply(const float* block, int64_t rows, int64_t depth, const float* panel, float* sums,
              int64_t stride) {
  const int64_t tile_size = block_size(kRows, depth);
  for (int64_t begin = 0; begin < depth; begin += kSlice) {
    const int64_t slice = depth - begin < kSlice ? depth - begin : kSlice;
    const float* weights = panel + begin * kPanel;
    for (int64_t row = 0; row < rows; row += kRows) {
      const float* x = block + row / kRows * tile_size + begin * kRows;
      for (int64_t column = 0; column < kPanel; column += kColumns * kLanes) {
        multiply_tile(x, weights + column, slice, begin == 0, sums + row * stride + column, stride);
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk::cpu
