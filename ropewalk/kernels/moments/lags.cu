#include <cstdint>

#include "ropewalk/kernels/moments/lags.cuh"

namespace ropewalk::cuda {
namespace {

// Each lane holds 32 numbers; lane l returns the sum over all lanes of number l.
__device__ float sum_across(float (&v)[kWarp], int lane) {
#pragma unroll
  for (int width = kWarp / 2; width > 0; width /= 2) {
    const bool upper = (lane & width) != 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float kept = upper ? v[i + width] : v[i];
      const float given = upper ? v[i] : v[i + width];
      v[i] = kept + __shfl_xor_sync(0xffffffffU, given, width);
    }
  }
  return v[0];
}

// A warp takes one token at a time: its queries stay in registers while the keys of all lags pass.
// A lane holds every 32nd dimension. `heads` queries share each key, so that heads and lags
// together make 32 dot products, which are summed over lanes at once.
template <typename T, int parts, int heads>
__global__ void __launch_bounds__(kWarp* kWarps) lag_tiles(LagsPass pass) {
  constexpr int kAtOnce = kWarp / heads;  // lags
  constexpr int kRounds = (kMostLags + kAtOnce - 1) / kAtOnce;
  __shared__ double shared[kWarps][kWarp][2];
  const int lane = threadIdx.x;
  const int warp = threadIdx.y;
  const int64_t kv_head = pass.keys.chosen[blockIdx.y];
  const T* keys = static_cast<const T*>(pass.keys.data) + kv_head * pass.keys.head_stride;
  const QueryHeadRange readers = query_heads_of(pass, kv_head);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * pass.tile;
  const int64_t end = min(begin + pass.tile, pass.tokens);
  for (int64_t batch = 0; batch < readers.count; batch += heads) {
    double sum[kRounds] = {};
    double squares[kRounds] = {};
    for (int64_t t = begin + warp; t < end; t += kWarps) {
      float q[heads][parts] = {};
#pragma unroll
      for (int h = 0; h < heads; ++h) {
        if (batch + h >= readers.count) continue;
        const T* row = static_cast<const T*>(pass.queries.data) +
                       pass.queries.chosen[readers.first + batch + h] * pass.queries.head_stride +
                       t * pass.queries.token_stride;
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          const int j = lane + p * kWarp;
          if (j < pass.d) q[h][p] = to_float(row[j]);
        }
      }
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        if (round * kAtOnce >= pass.lag_count) continue;
        float v[kWarp];
#pragma unroll
        for (int l = 0; l < kAtOnce; ++l) {
          const int i = round * kAtOnce + l;
          const int64_t from = i < pass.lag_count ? t - pass.lags[i] : -1;
          float k[parts] = {};
          if (from >= 0) {
            const T* row = keys + from * pass.keys.token_stride;
#pragma unroll
            for (int p = 0; p < parts; ++p) {
              const int j = lane + p * kWarp;
              if (j < pass.d) k[p] = to_float(row[j]);
            }
          }
#pragma unroll
          for (int h = 0; h < heads; ++h) {
            float dot = 0;
#pragma unroll
            for (int p = 0; p < parts; ++p) dot += q[h][p] * k[p];
            v[l * heads + h] = dot;
          }
        }
        const double logit = sum_across(v, lane);
        sum[round] += logit;
        squares[round] += logit * logit;
      }
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (round * kAtOnce >= pass.lag_count) continue;
      __syncthreads();
      shared[warp][lane][0] = sum[round];
      shared[warp][lane][1] = squares[round];
      __syncthreads();
      const int lag = round * kAtOnce + lane / heads;
      const int64_t reader = batch + lane % heads;
      if (warp > 1 || lag >= pass.lag_count || reader >= readers.count) continue;
      double all = 0;  // of sums in warp 0, of squares in warp 1
      for (int w = 0; w < kWarps; ++w) all += shared[w][lane][warp];
      const int64_t row = blockIdx.x * pass.queries.count + readers.first + reader;
      pass.parts[(row * pass.lag_count + lag) * 2 + warp] = all;
    }
  }
}

// A warp adds the tiles of one sum, always in the same order.
__global__ void join_tiles(LagsPass pass) {
  const int64_t sums = pass.queries.count * pass.lag_count * 2;
  const int64_t which = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (which >= sums) return;
  double all = 0;
  for (int64_t tile = threadIdx.x; tile < pass.tiles(); tile += kWarp) {
    all += pass.parts[tile * sums + which];
  }
  for (int width = kWarp / 2; width > 0; width /= 2) {
    all += __shfl_xor_sync(0xffffffffU, all, width);
  }
  if (threadIdx.x > 0) return;
  const int64_t lag = which / 2 % pass.lag_count;
  const int64_t head = which / 2 / pass.lag_count;
  const int64_t index = head * pass.stride + lag;
  if (which % 2 == 1) {
    pass.squares[index] += all;
    return;
  }
  pass.sum[index] += all;
  pass.count[index] += static_cast<double>(pass.tokens - pass.lags[lag]);
}

template <typename T, int parts, int heads>
void launch(const LagsPass& pass, cudaStream_t stream) {
  lag_tiles<T, parts, heads><<<tiles(pass), dim3(kWarp, kWarps), 0, stream>>>(pass);
  check_launch("lag_tiles");
}

template <typename T, int parts>
void choose_heads(const LagsPass& pass, cudaStream_t stream) {
  if (pass.group == 1) return launch<T, parts, 1>(pass, stream);
  if (pass.group == 2) return launch<T, parts, 2>(pass, stream);
  launch<T, parts, 4>(pass, stream);
}

template <typename T>
void choose_parts(const LagsPass& pass, cudaStream_t stream) {
  if (pass.d <= 2 * kWarp) return choose_heads<T, 2>(pass, stream);
  if (pass.d <= 4 * kWarp) return choose_heads<T, 4>(pass, stream);
  if (pass.d <= 8 * kWarp) return choose_heads<T, 8>(pass, stream);
  static_assert(kMostLagDimensions == 16 * kWarp);
  choose_heads<T, 16>(pass, stream);
}

}  // namespace

void run(const LagsPass& pass, Stream stream) {
  if (suits_tensor_cores(pass)) {
    lag_tiles_by_tensor_cores(pass, native(stream));
  } else if (pass.type == Number::float32) {
    choose_parts<float>(pass, native(stream));
  } else {
    choose_parts<__nv_bfloat16>(pass, native(stream));
  }
  const auto sums = static_cast<unsigned>(pass.queries.count * pass.lag_count * 2);
  join_tiles<<<(sums + kWarps - 1) / kWarps, dim3(kWarp, kWarps), 0, native(stream)>>>(pass);
  check_launch("join_tiles");
}

}  // namespace ropewalk::cuda
