#pragma once

#include <climits>
#include <cstdint>

#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/row_columns.h"

namespace ropewalk::cuda {

constexpr int kWarp = 32;

__device__ inline double warp_sum(double x) {
  for (int width = kWarp / 2; width > 0; width /= 2) x += __shfl_xor_sync(0xffffffffU, x, width);
  return x;
}

__device__ inline float warp_sum(float x) {
  for (int width = kWarp / 2; width > 0; width /= 2) x += __shfl_xor_sync(0xffffffffU, x, width);
  return x;
}

// The strongest two of some links, each with its key or index; of equal ones the first.
struct Strongest {
  float p[kStrongest];
  int32_t key[kStrongest];

  __device__ void clear() {
    for (int i = 0; i < kStrongest; ++i) {
      p[i] = 0;
      key[i] = INT_MAX;
    }
  }
  __device__ static bool before(float p, int32_t key, float other, int32_t other_key) {
    return p > other || (p == other && key < other_key);
  }
  __device__ void add(float new_p, int32_t new_key) {
    if (!(new_p > 0) || !before(new_p, new_key, p[1], key[1])) return;
    if (before(new_p, new_key, p[0], key[0])) {
      p[1] = p[0];
      key[1] = key[0];
      p[0] = new_p;
      key[0] = new_key;
    } else {
      p[1] = new_p;
      key[1] = new_key;
    }
  }
  __device__ void join_lanes() {
    for (int width = kWarp / 2; width > 0; width /= 2) {
      float others[kStrongest];
      int32_t keys[kStrongest];
      for (int i = 0; i < kStrongest; ++i) {
        others[i] = __shfl_xor_sync(0xffffffffU, p[i], width);
        keys[i] = __shfl_xor_sync(0xffffffffU, key[i], width);
      }
      for (int i = 0; i < kStrongest; ++i) add(others[i], keys[i]);
    }
  }
};
static_assert(kStrongest == 2);

// The logits of one row of one head. Positions are below 2^31.
struct RowLogits {
  const float* products;
  float scale, cap, slope;
  int t;
  int first;  // the first key that it sees

  __device__ RowLogits(const RowsPass& pass, int64_t head, int64_t row)
      : products(pass.products + (head * pass.rows + row) * pass.tokens),
        scale(pass.scale),
        cap(pass.cap),
        slope(pass.slopes == nullptr ? 0 : pass.slopes[head]),
        t(pass.t[row]),
        first(pass.window > 0 && t + 1 > pass.window ? t + 1 - static_cast<int>(pass.window) : 0) {}

  __device__ int first_late() const { return max(first, static_cast<int>(kFirstLateKey)); }
  __device__ int late() const { return max(t + 1 - first_late(), 0); }
  // Before any cap, with ALiBi's part; and from it the model's own.
  __device__ float uncapped(int j) const {
    return scale * products[j] - slope * static_cast<float>(t - j);
  }
  __device__ float capped(float uncapped_j, int j) const {
    if (cap <= 0) return uncapped_j;
    const float bias = slope * static_cast<float>(t - j);
    return cap * tanhf((uncapped_j + bias) / cap) - bias;
  }
  __device__ float logit(int j) const { return capped(uncapped(j), j); }
};

}  // namespace ropewalk::cuda
