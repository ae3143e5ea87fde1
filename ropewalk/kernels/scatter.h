#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// First and second moments of a document's vectors in each head, with positions 0 … T-1, about
// their own means. All float64, on x's device.
struct Scatter {
  at::Tensor mean;      // [heads, d]
  at::Tensor position;  // [heads, d]: sum of (x - mean)(t - mean t)
  at::Tensor products;  // [heads, d, d]: sum of (x - mean)(x - mean)^T
};

// x is [heads, T, d] in any float dtype and layout. Within a chunk of tokens, vectors are taken
// about the chunk's mean and multiplied in float32; chunks are joined in float64 (Chan, Golub &
// LeVeque 1983), so that a mean far larger than the spread costs no digits.
Scatter document_scatter(const at::Tensor& x);

// Bytes document_scatter may hold at once, its result included.
int64_t document_scatter_workspace(int64_t heads, int64_t tokens, int64_t d);

// The same on a GPU, joined to what a block of documents holds, without waiting for the GPU.
struct GpuStreams {
  at::Tensor heads;     // [streams] int32
  at::Tensor mean;      // [streams, d] float64, of the block
  at::Tensor position;  // [streams, d]
  at::Tensor products;  // [streams, d (d + 1) / 2]
};
struct GpuDocument {
  int64_t index = 0;
  double block_tokens = 0;         // that the block holds before
  double block_position_mean = 0;  // of those
};
// q and k are [heads, T, d]. `bad` [streams of queries, then of keys] int64 becomes the lowest
// index of a document whose moments are not finite.
void join_on_gpu(const at::Tensor& q, const GpuStreams& queries, const at::Tensor& k,
                 const GpuStreams& keys, const GpuDocument& document, const at::Tensor& bad);

// Bytes of the GPU that join_on_gpu may hold at once.
int64_t join_on_gpu_workspace(int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens, int64_t d,
                              at::ScalarType dtype);

}  // namespace ropewalk
