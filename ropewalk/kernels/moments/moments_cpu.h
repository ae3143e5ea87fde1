#pragma once

#include <cstdint>

#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {

// The vectors of a chunk of tokens of one head, with their positions relative to the chunk's mean
// position.
struct ChunkVectors {
  NumberRows rows;
  int64_t d;
  const float* positions;
};

// The chunk's moments about `mean`, its mean rounded to float32.
struct ChunkMoments {
  float* mean;      // [d]
  float* rest;      // [d]: sum of x - mean
  float* position;  // [d]: sum of (x - mean) t
  // [d, d]: sum of (x - mean)(x - mean)^T; only a part of its lower half is filled
  float* products;
};

// The scratch of multiply_chunk, in numbers: the vectors about their mean, in rows of whole lanes.
int64_t chunk_room(int64_t tokens, int64_t d);

void multiply_chunk(const ChunkVectors& vectors, float* room, const ChunkMoments& to);

}  // namespace ropewalk
