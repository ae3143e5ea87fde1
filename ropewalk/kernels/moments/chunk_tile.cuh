#pragma once

#include <cstdint>

#include "ropewalk/kernels/gpu/chunk_reader.cuh"

// The tiles in shared memory that moments of chunks are made of (moments_chunks.cu).
namespace ropewalk::cuda {

inline constexpr int kTile = 64;  // tokens in shared memory at a time
inline constexpr int kMomentThreads = 256;

template <int d>
struct alignas(16) Tile {
  static inline constexpr int kStride = d + 8;  // keeps rows in different banks
  __nv_bfloat16 x[kTile][kStride];
};

// A mean that many spreads away from zero is used as a shift.
inline constexpr float kFarMean = 6;

// What a thread reads of every tile: the same eight columns of every kRowStep-th token.
template <int d>
struct Packs {
  // Of a thread.
  struct Own {
    int first_token;
    int column;
  };
  using P = Pack<__nv_bfloat16, 8>;
  static constexpr int kRowStep = kMomentThreads / (d / 8);
  static constexpr int kPacks = kTile / kRowStep;
  using Row = P[kPacks];

  // Those from the token `from` on, of the chunk's `tokens`.
  __device__ static __forceinline__ void fetch(Row& next, const __nv_bfloat16* source,
                                               int64_t token_stride, int from, int tokens) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int token = from + p * kRowStep;
      if (token < tokens) next[p] = *reinterpret_cast<const P*>(source + token * token_stride);
    }
  }

  __device__ static __forceinline__ void put(Tile<d>& tile, const Row& next, const Own& at) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      *reinterpret_cast<P*>(&tile.x[at.first_token + p * kRowStep][at.column]) = next[p];
    }
  }

  // About the shift, with zeros beyond the chunk's tokens, and what rounding took from it into
  // `rest`; whether it took anything. The tile begins with the token `from`.
  __device__ static __forceinline__ bool put_shifted(Tile<d>& tile, Tile<d>& rest, const Row& next,
                                                     const Own& at, const float (&shift)[d],
                                                     bool shifts, int from, int tokens) {
    bool rounded = false;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int row = at.first_token + p * kRowStep;
      const bool inside = from + row < tokens;
      if (!shifts) {
        *reinterpret_cast<P*>(&tile.x[row][at.column]) = inside ? next[p] : P{};
        continue;
      }
      P shifted;
      P left;
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        const float exact = inside ? to_float(next[p].at[l]) - shift[at.column + l] : 0;
        shifted.at[l] = __float2bfloat16_rn(exact);
        const float lost = exact - to_float(shifted.at[l]);
        left.at[l] = __float2bfloat16_rn(lost);
        rounded = rounded || lost != 0;
      }
      *reinterpret_cast<P*>(&tile.x[row][at.column]) = shifted;
      *reinterpret_cast<P*>(&rest.x[row][at.column]) = left;
    }
    return rounded;
  }
};

// Finds the shift from the chunk's first tile; whether this thread's dimension is shifted. Of the
// tile's groups of tokens the one that spreads least says where the mean is: an attention sink
// among the others would hide how far they are from zero.
template <int d>
__device__ __forceinline__ bool find_shift(float (&shift)[d], float2 (&shared_best)[kMomentThreads],
                                           const Tile<d>& tile, int tokens) {
  constexpr int kHelpers = kMomentThreads / d;  // threads of a dimension
  const int dimension = threadIdx.x % d;
  const int helper = threadIdx.x / d;
  constexpr int kGroup = 8;
  constexpr int kOwn = kTile / kHelpers;
  const int count = min(tokens, kTile);
  float2 best{0, INFINITY};  // mean and variance
  for (int first = helper * kOwn; first < (helper + 1) * kOwn; first += kGroup) {
    const int size = min(kGroup, count - first);
    if (size < min(kGroup / 2, count)) break;
    const float reference = to_float(tile.x[first][dimension]);
    float sum = 0;
    float squares = 0;
    for (int t = 0; t < size; ++t) {
      const float x = to_float(tile.x[first + t][dimension]) - reference;
      sum += x;
      squares += x * x;
    }
    const float mean = sum / static_cast<float>(size);
    const float variance = fmaxf(squares / static_cast<float>(size) - mean * mean, 0);
    if (variance < best.y) best = {reference + mean, variance};
  }
  shared_best[threadIdx.x] = best;
  __syncthreads();
  bool far = false;
  if (helper == 0) {
    for (int s = 1; s < kHelpers; ++s) {
      const float2 other = shared_best[s * d + dimension];
      if (other.y < best.y) best = other;
    }
    far = fabsf(best.x) > kFarMean * sqrtf(best.y);
    shift[dimension] = far ? to_float(__float2bfloat16_rn(best.x)) : 0;
  }
  return far;
}

}  // namespace ropewalk::cuda
