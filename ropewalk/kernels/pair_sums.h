#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Sums over tokens of vectors as they are, not about a mean; of some streams, float64. What is
// undefined is left out.
struct PairSums {
  at::Tensor tokens;   // [streams, 1]: how many
  at::Tensor sum;      // [streams, d]
  at::Tensor squares;  // [streams, d]
  at::Tensor pairs;    // [streams, d / 2]: products of the two numbers of a pair
  at::Tensor moduli;   // [streams, d / 2]: lengths of the pair
};
struct PairStreams {
  at::Tensor heads;  // [streams] int32
  PairSums sums;
};
struct TurningPairs {
  int64_t dim = 0;           // dimensions in pairs, from the front
  bool interleaved = false;  // (2f, 2f + 1) rather than (f, f + dim / 2)
};
// Adds the tokens of q and k, [heads, T, d], on a GPU, without waiting for it.
void add_pair_sums(const at::Tensor& q, const PairStreams& queries, const at::Tensor& k,
                   const PairStreams& keys, const TurningPairs& turning);

}  // namespace ropewalk
