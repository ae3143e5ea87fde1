#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Vectors of a document in a layer, and the length of the longest one that each chosen head ever
// had.
struct LongestVectors {
  const at::Tensor& vectors;           // [heads, T, d]
  const std::vector<int64_t>& chosen;  // heads
  const at::Tensor& chosen_on_gpu;     // the same, int32, where the vectors are on a GPU
  at::Tensor longest;                  // [chosen, 1] float64: a view that is raised
};
void add_longest(const LongestVectors& queries, const LongestVectors& keys);

}  // namespace ropewalk
