#pragma once

#include "ropewalk/kernels/gpu/gpu_common.cuh"

// Reads the moments of chunks (StreamChunks).
namespace ropewalk::cuda {

// The dimensions of a rotary pair.
struct PairDimensions {
  int first;
  int second;
};
__device__ inline PairDimensions pair_dimensions(const StreamChunks& chunks, int pair) {
  if (chunks.interleaved) return {2 * pair, 2 * pair + 1};
  return {pair, pair + static_cast<int>(chunks.turns / 2)};
}

// The length of a pair, with an approximate square root in one instruction, exact to the last bit
// but one.
__device__ inline float length(float x, float y) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x * x + y * y));
  return root;
}

struct ChunkReader {
  const StreamChunks& chunks;
  int64_t stream;

  __device__ double count(int64_t chunk) const {
    return static_cast<double>(min(chunks.chunk, chunks.tokens - chunk * chunks.chunk));
  }
  __device__ int64_t offset(int64_t chunk, int64_t i) const {
    return (stream * chunks.chunks() + chunk) * chunks.d + i;
  }
  // The sums of (x - shift) time, and of x - shift.
  __device__ float2 sums(int64_t chunk, int64_t i) const {
    return reinterpret_cast<const float2*>(chunks.sums)[offset(chunk, i)];
  }
  __device__ double shift(int64_t chunk, int64_t i) const { return chunks.shift[offset(chunk, i)]; }
  __device__ double mean(int64_t chunk, int64_t i, double sum, double inverse) const {
    return shift(chunk, i) + sum * inverse;
  }
};

// 1 / n of a chunk. All chunks but the last have the same n, and divisions in float64 are slow.
struct Inverses {
  double usual;
  double last;
  __device__ explicit Inverses(const StreamChunks& chunks)
      : usual(1 / static_cast<double>(chunks.chunk)),
        last(1 / static_cast<double>(chunks.tokens - (chunks.chunks() - 1) * chunks.chunk)) {}
  __device__ double of(int64_t chunk, int64_t chunks) const {
    return chunk + 1 < chunks ? usual : last;
  }
};

// Lowers bad[stream] to `document` where a number is not finite.
__device__ inline void note_bad(int64_t* bad, int64_t document, int64_t stream, double value) {
  if (!isfinite(value)) {
    atomicMin(reinterpret_cast<long long*>(bad) + stream, static_cast<long long>(document));
  }
}

// Row and column of an offset in a packed upper triangle.
__device__ inline void unpack(int64_t offset, int64_t d, int64_t& i, int64_t& j) {
  const auto wide = static_cast<float>(2 * d + 1);
  i = static_cast<int64_t>((wide - sqrtf(wide * wide - 8 * static_cast<float>(offset))) / 2);
  const auto start = [d](int64_t row) { return row * d - row * (row - 1) / 2; };
  while (i > 0 && start(i) > offset) --i;  // corrects the rounded root
  while (start(i + 1) <= offset) ++i;
  j = i + offset - start(i);
}

}  // namespace ropewalk::cuda
