#pragma once

#include <cstdint>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/token_set.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Moments of the vectors x of some streams with their positions t, about their own means, over a
// document, a block or all tokens. Number, mean and centred sums of a union follow exactly from
// those of its parts (Chan, Golub & LeVeque 1983), and no digit is lost where a mean exceeds its
// spread.
struct Moments {
  at::Tensor mean;      // [.., d]
  at::Tensor position;  // [.., d]: sum of (x - mean)(t - mean t)
  at::Tensor products;  // [.., d(d+1)/2]: sum of (x - mean)(x - mean)^T, upper triangle by rows
};

// Joins `part` to `whole` in place. Both are [streams, ..], and the numbers of a stream lie side by
// side; `whole` is float64.
void join_moments(const Moments& whole, const TokenSet& whole_tokens, const Moments& part,
                  const TokenSet& part_tokens);

// x is [heads, T, d] of any float dtype and layout; the result is [heads, ..] float64. Within a
// chunk of tokens, the chunk's mean is subtracted from vectors before they are multiplied in
// float32; chunks are joined in float64.
Moments document_moments(const at::Tensor& x, const Positions& positions);

// The most bytes that document_moments holds at once, including its result.
int64_t document_moments_workspace(int64_t heads, int64_t tokens, int64_t d);

// A document's moments on a GPU, joined to those of a block of documents without waiting for the
// GPU.
struct GpuStreams {
  at::Tensor heads;  // [streams] int32
  Moments block;     // [streams, ..] float64
};
struct GpuDocument {
  const Positions& positions;
  int64_t index = 0;
  TokenSet block;  // tokens that the block already holds
};
// q and k are [heads, T, d]. `bad` [streams of queries, then of keys] int64 becomes the lowest
// index of a document whose moments are not finite.
void join_on_gpu(const at::Tensor& q, const GpuStreams& queries, const at::Tensor& k,
                 const GpuStreams& keys, const GpuDocument& document, const at::Tensor& bad);

// Full symmetric matrices [.., d, d] from their upper triangles [.., d(d+1)/2].
at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d);

}  // namespace ropewalk
