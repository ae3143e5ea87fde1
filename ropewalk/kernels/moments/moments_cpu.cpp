#include "ropewalk/kernels/moments/moments_cpu.h"

#include <algorithm>

#include "ropewalk/kernels/bfloat16.h"

namespace ropewalk {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kRows = 6;  // rows of products at once: as many as registers hold with AVX2
// Tokens that stay in a core's nearest cache while all are multiplied.
constexpr int64_t kTokens = 64;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

ROPEWALK_INLINE int64_t whole_lanes(int64_t d) { return (d + kLanes - 1) / kLanes * kLanes; }

// centred [tokens, width]: vectors minus their mean, padded with zeros to whole lanes.
template <typename T>
ROPEWALK_INLINE void centre(const ChunkVectors& vectors, int64_t width, float* centred,
                            const ChunkMoments& to) {
  const int64_t d = vectors.d;
  const auto row = [&](int64_t t) {
    return static_cast<const T*>(vectors.rows.data) + t * vectors.rows.stride;
  };
  std::fill_n(to.mean, d, 0.0F);
  for (int64_t t = 0; t < vectors.rows.count; ++t) {
    const T* x = row(t);
#pragma GCC ivdep
    for (int64_t i = 0; i < d; ++i) to.mean[i] += cpu::load(x[i]);
  }
  const float share = 1 / static_cast<float>(vectors.rows.count);
  for (int64_t i = 0; i < d; ++i) to.mean[i] *= share;
  std::fill_n(to.rest, d, 0.0F);
  std::fill_n(to.position, d, 0.0F);
  for (int64_t t = 0; t < vectors.rows.count; ++t, centred += width) {
    const T* x = row(t);
    const float position = vectors.positions[t];
#pragma GCC ivdep
    for (int64_t i = 0; i < d; ++i) {
      const float value = cpu::load(x[i]) - to.mean[i];
      centred[i] = value;
      to.rest[i] += value;
      to.position[i] += value * position;
    }
    std::fill(centred + d, centred + width, 0.0F);
  }
}

// Adds, over tokens, the products of `rows` dimensions from `i` on with a lane of dimensions from
// `j` on.
template <int64_t rows>
ROPEWALK_INLINE void multiply(const float* centred, int64_t tokens, int64_t width, int64_t i,
                              int64_t j, float* products, int64_t d) {
  Lanes sums[rows] = {};
  for (int64_t t = 0; t < tokens; ++t, centred += width) {
    Lanes lane;
    __builtin_memcpy(&lane, centred + j, sizeof(lane));
    for (int64_t r = 0; r < rows; ++r) sums[r] += centred[i + r] * lane;
  }
  const int64_t inside = std::min(kLanes, d - j);
  for (int64_t r = 0; r < rows; ++r) {
    float* to = products + (i + r) * d + j;
    for (int64_t l = 0; l < inside; ++l) to[l] += sums[r][l];
  }
}

}  // namespace

int64_t chunk_room(int64_t tokens, int64_t d) { return tokens * whole_lanes(d); }

ROPEWALK_CLONES void multiply_chunk(const ChunkVectors& vectors, float* room,
                                    const ChunkMoments& to) {
  const int64_t d = vectors.d;
  const int64_t width = whole_lanes(d);
  if (vectors.rows.bfloat16) {
    centre<cpu::Bfloat16>(vectors, width, room, to);
  } else {
    centre<float>(vectors, width, room, to);
  }
  std::fill_n(to.products, d * d, 0.0F);
  for (int64_t from = 0; from < vectors.rows.count; from += kTokens) {
    const int64_t tokens = std::min(kTokens, vectors.rows.count - from);
    const float* centred = room + from * width;
    for (int64_t j = 0; j < d; j += kLanes) {
      const int64_t end = std::min(j + kLanes, d);  // rows below it belong to the upper half
      int64_t i = 0;
      for (; i + kRows <= end; i += kRows) {
        multiply<kRows>(centred, tokens, width, i, j, to.products, d);
      }
      for (; i + 2 <= end; i += 2) multiply<2>(centred, tokens, width, i, j, to.products, d);
      if (i < end) multiply<1>(centred, tokens, width, i, j, to.products, d);
    }
  }
}

}  // namespace ropewalk
