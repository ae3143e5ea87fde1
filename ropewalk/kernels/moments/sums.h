#pragma once

#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_chunks.h"
#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Sums over tokens of the vectors of some streams, about zero, in float64, on a GPU. A document's
// tokens are added without waiting for the GPU.
struct VectorSums {
  at::Tensor tokens;    // [streams, 1]: number of tokens
  at::Tensor sum;       // [streams, d]
  at::Tensor squares;   // [streams, d]
  at::Tensor pairs;     // [streams, d / 2]: sums of products of the two numbers of a pair
  at::Tensor moduli;    // [streams, d / 2]: sums of the pair's lengths
  at::Tensor products;  // [streams, d(d+1)/2]: sum of xxᵀ, upper triangle by rows
};
struct SumStreams {
  at::Tensor heads;  // [streams] int32
  VectorSums sums;
};

// A few tokens, of which only number, sum and squares are kept. q and k are [heads, T, d].
struct FewTokens {
  at::Tensor q;
  at::Tensor k;
  VectorSums queries;
  VectorSums keys;
};
void add_few_sums(const FewTokens& few, const at::Tensor& q_heads, const at::Tensor& kv_heads);

struct SummedDocument {
  const Positions& positions;
  int64_t index = 0;
  TurningPairs turning;
};
// Adds all sums but the number of tokens, and a few tokens in the same step. Products are
// multiplied in chunks, as in moments.h, which also describes `bad` and the bytes that this may
// hold.
void add_sums(const at::Tensor& q, const SumStreams& queries, const at::Tensor& k,
              const SumStreams& keys, const FewTokens& few, const SummedDocument& document,
              const at::Tensor& bad);

}  // namespace ropewalk
