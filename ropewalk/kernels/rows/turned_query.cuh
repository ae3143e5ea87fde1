#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"

// How a lane of a warp reads its numbers of keys, and of queries that it turns, for tensor cores.
namespace ropewalk::cuda {

constexpr int kStep = 16;  // dimensions that tensor cores take at once

// Two numbers as one register of bfloat16, and what is left of them.
__device__ inline unsigned take_term(float2& x) {
  const __nv_bfloat162 term = __float22bfloat162_rn(x);
  const float2 taken = __bfloat1622float2(term);
  x = {x.x - taken.x, x.y - taken.y};
  return *reinterpret_cast<const unsigned*>(&term);
}

// Two neighbouring numbers of a vector, from an even one on; 0 behind its end. `even`: vectors
// begin where two numbers can be read at once.
__device__ inline float2 load_two(const float* vector, int i, int d, bool even) {
  if (even && i + 1 < d) return *reinterpret_cast<const float2*>(vector + i);
  return {i < d ? vector[i] : 0, i + 1 < d ? vector[i + 1] : 0};
}
__device__ inline float2 load_two(const __nv_bfloat16* vector, int i, int d, bool even) {
  if (even && i + 1 < d) {
    return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(vector + i));
  }
  return {i < d ? to_float(vector[i]) : 0, i + 1 < d ? to_float(vector[i + 1]) : 0};
}

// Tensor cores take any order of dimensions that queries and keys have in common. A lane's numbers
// of two steps lie side by side in this one, so that it reads eight of a vector at once.
constexpr int kAtOnce = 8;
__device__ inline int dimension(int step, int half) {
  return step / 2 * 2 * kStep + static_cast<int>(threadIdx.x % 4) * kAtOnce + step % 2 * 4 +
         half * 2;
}

// A lane's numbers of a key for two steps, as registers of bfloat16, by term. `whole`: all are
// there, and lie where they can be read at once.
template <bool whole>
__device__ void load_terms(unsigned (&terms)[1][4], const __nv_bfloat16* vector, int i, int d,
                           bool even) {
  if constexpr (whole) {
    const uint4 words = *reinterpret_cast<const uint4*>(vector + i);
    terms[0][0] = words.x;
    terms[0][1] = words.y;
    terms[0][2] = words.z;
    terms[0][3] = words.w;
  } else {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      float2 x = load_two(vector, i + 2 * n, d, even);
      terms[0][n] = take_term(x);
    }
  }
}
template <bool whole>
__device__ void load_terms(unsigned (&terms)[3][4], const float* vector, int i, int d, bool even) {
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    float2 x = load_two(vector, i + 2 * n, d, whole || even);
    for (auto& term : terms) term[n] = take_term(x);
  }
}

// A query that is turned back as far as a run moves, without what RoPE multiplies by beside
// turning, which queries and keys have already.
template <typename T>
struct TurnedQuery {
  const T* query;
  const float* cos;
  const float* sin;
  float unscaled;  // and the sign of the move is in `sign`
  float sign;
  int pairs, d;
  bool interleaved, even;

  __device__ TurnedQuery(const RowsPass& pass, int64_t head, int64_t row, int32_t move)
      : query(static_cast<const T*>(pass.q) + (head * pass.rows + row) * pass.d),
        unscaled(1 / pass.cos[0]),
        sign(move < 0 ? -unscaled : unscaled),
        pairs(static_cast<int>(pass.pairs)),
        d(static_cast<int>(pass.d)),
        interleaved(pass.interleaved),
        even(pass.d % 2 == 0) {
    const int64_t far = static_cast<int64_t>(move < 0 ? -move : move) * pass.pairs;
    cos = pass.cos + far;
    sin = pass.sin + far;
  }

  // Whether every number turns, with one that lies half of the vector apart.
  __device__ bool halves() const {
    return !interleaved && 2 * pairs == d && pairs % (2 * kStep) == 0;
  }
  // Then the numbers i and i + 1, and those half of the vector behind them; both are even.
  __device__ void four(int i, float2& first, float2& second) const {
    const float2 x = load_two(query, i, d, true), y = load_two(query, i + pairs, d, true);
    const float2 c = load_two(cos, i, pairs, true), s = load_two(sin, i, pairs, true);
    const float c0 = c.x * unscaled, c1 = c.y * unscaled, s0 = s.x * sign, s1 = s.y * sign;
    first = {x.x * c0 + y.x * s0, x.y * c1 + y.y * s1};
    second = {y.x * c0 - x.x * s0, y.y * c1 - x.y * s1};
  }

  // In general its numbers i and i + 1; i is even.
  __device__ float2 two(int i) const {
    const float2 x = load_two(query, i, d, even);
    if (i >= 2 * pairs) return x;
    if (interleaved) {
      const float c = cos[i / 2] * unscaled, s = sin[i / 2] * sign;
      return {x.x * c + x.y * s, x.y * c - x.x * s};
    }
    if (pairs % 2 != 0) return {one(i), one(i + 1)};
    const bool first = i < pairs;
    const float2 other = load_two(query, first ? i + pairs : i - pairs, d, even);
    const int pair = first ? i : i - pairs;
    const float2 c = load_two(cos, pair, pairs, true), s = load_two(sin, pair, pairs, true);
    const float turn = first ? sign : -sign;
    return {x.x * c.x * unscaled + other.x * s.x * turn,
            x.y * c.y * unscaled + other.y * s.y * turn};
  }

 private:
  // Where halves lie apart by an odd number.
  __device__ float one(int i) const {
    if (i >= d) return 0;
    const float x = to_float(query[i]);
    if (i >= 2 * pairs) return x;
    const bool first = i < pairs;
    const int pair = first ? i : i - pairs;
    const float other = to_float(query[first ? i + pairs : i - pairs]);
    return x * cos[pair] * unscaled + other * sin[pair] * (first ? sign : -sign);
  }
};

}  // namespace ropewalk::cuda
