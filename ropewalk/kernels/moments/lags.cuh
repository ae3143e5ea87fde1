#pragma once

#include "ropewalk/kernels/gpu/gpu_common.cuh"

// Code that both ways to sum logits by distance share (lags.cu, lags_mma.cu).
namespace ropewalk::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kWarps = 8;

// The chosen query heads that read one KV head; they lie side by side.
struct QueryHeadRange {
  int64_t first = 0;
  int64_t count = 0;
};
__device__ inline QueryHeadRange query_heads_of(const LagsPass& pass, int64_t kv_head) {
  QueryHeadRange readers;
  for (int64_t i = 0; i < pass.queries.count; ++i) {
    if (pass.queries.chosen[i] / pass.group != kv_head) continue;
    if (readers.count == 0) readers.first = i;
    ++readers.count;
  }
  return readers;
}

inline dim3 tiles(const LagsPass& pass) {
  return {static_cast<unsigned>(pass.tiles()), static_cast<unsigned>(pass.keys.count)};
}

// Whether tensor cores apply: bfloat16 of some widths.
bool suits_tensor_cores(const LagsPass& pass);
void lag_tiles_by_tensor_cores(const LagsPass& pass, cudaStream_t stream);

}  // namespace ropewalk::cuda
