#pragma once

#include <cstdint>

#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/rows/row_logits.cuh"

// What the threads of a block that takes a row of attention add up together.
namespace ropewalk::cuda {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
// Distances below kThreads fall into the first parts, 0, 1, [2, 4) … [128, 256).
constexpr int kNearParts = 9;
constexpr int kMostParts = 33;

// The sum of each of some numbers over all threads of a block, for all of them.
template <int count>
__device__ void block_sum(const float (&x)[count], double (&sums)[count]) {
  __shared__ float room[count][kWarps];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const float sum = warp_sum(x[i]);
    if (lane == 0) room[i][warp] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < count; ++i) {
    sums[i] = 0;
    for (int w = 0; w < kWarps; ++w) sums[i] += room[i][w];
  }
}

__device__ inline float block_max(float x) {
  __shared__ float room[kWarps];
  for (int width = kWarp / 2; width > 0; width /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, width));
  }
  if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = x;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) x = fmaxf(x, room[w]);
  return x;
}

// The p of a row's late keys by distance. Beyond kThreads, all threads of a block are in the same
// part at once: a thread adds up its own keys and notes the sum where a part ends.
struct DistanceSums {
  float near[kThreads];                          // by distance
  float far[kMostParts - kNearParts][kThreads];  // by part and thread
  double part[kMostParts];
  float at_far[kFarCount];  // p at these distances themselves
  double late;              // all parts

  __device__ void reduce(int parts, int used) {
    const int lane = threadIdx.x % kWarp;
    __syncthreads();
    for (int i = threadIdx.x / kWarp; i < parts; i += kWarps) {
      float sum = 0;
      if (i < kNearParts) {
        const int begin = i == 0 ? 0 : 1 << (i - 1), end = 1 << i;
        for (int d = begin + lane; d < end; d += kWarp) sum += near[d];
      } else if (i < used) {
        for (int k = lane; k < kThreads; k += kWarp) sum += far[i - kNearParts][k];
      }
      sum = warp_sum(sum);
      if (lane == 0) part[i] = sum;
    }
    __syncthreads();
    if (threadIdx.x < kWarp) {
      const double sum =
          (lane < parts ? part[lane] : 0) + (lane + kWarp < parts ? part[lane + kWarp] : 0);
      const double all = warp_sum(sum);
      if (lane == 0) late = all;
    }
  }
};

}  // namespace ropewalk::cuda
