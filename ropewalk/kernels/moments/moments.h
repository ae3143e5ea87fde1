#pragma once

#include <cstdint>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/token_set.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Moments of the vectors x of some streams, with their positions t, about their own means; of
// documents, blocks or all tokens. n, mean and centred sums of a union follow from those of its
// parts exactly (Chan, Golub & LeVeque 1983), and no digit is lost where a mean exceeds its spread.
struct Moments {
  at::Tensor mean;      // [.., d]
  at::Tensor position;  // [.., d]: sum of (x - mean)(t - mean t)
  at::Tensor products;  // [.., d(d+1)/2]: sum of (x - mean)(x - mean)^T, upper triangle by rows
};

// Joins `part` to `whole` in place. Both are [streams, ..] with the numbers of a stream side by
// side; `whole` is float64.
void join_moments(const Moments& whole, const TokenSet& whole_tokens, const Moments& part,
                  const TokenSet& part_tokens);

// x is [heads, T, d] in any float dtype and layout; result [heads, ..] float64. Within a chunk of
// tokens, vectors are taken about the chunk's mean and multiplied in float32; chunks are joined in
// float64.
Moments document_moments(const at::Tensor& x, const Positions& positions);

// Bytes document_moments may hold at once, its result included.
int64_t document_moments_workspace(int64_t heads, int64_t tokens, int64_t d);

// The same on a GPU, joined to what a block of documents holds, without waiting for the GPU.
struct GpuStreams {
  at::Tensor heads;  // [streams] int32
  Moments block;     // [streams, ..] float64
};
struct GpuDocument {
  const Positions& positions;
  int64_t index = 0;
  TokenSet block;  // that the block holds before
};
// q and k are [heads, T, d]. `bad` [streams of queries, then of keys] int64 becomes the lowest
// index of a document whose moments are not finite.
void join_on_gpu(const at::Tensor& q, const GpuStreams& queries, const at::Tensor& k,
                 const GpuStreams& keys, const GpuDocument& document, const at::Tensor& bad);

// Full symmetric matrices [.., d, d] of their upper triangles [.., d(d+1)/2].
at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d);

}  // namespace ropewalk
