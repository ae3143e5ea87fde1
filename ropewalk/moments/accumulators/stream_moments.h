#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/moments/moments.h"
#include "ropewalk/model/tap.h"

namespace ropewalk {

// Of a layer's vectors [heads, T, d] those of some heads.
at::Tensor chosen_heads(const at::Tensor& vectors, const std::vector<int64_t>& heads);

// Moments of a document's vectors of these heads, on the CPU; `positions` are those of the vectors.
// Throws InputError on what is not finite, calling the vectors `what`.
Moments stream_moments(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                       const char* what, const TappedVectors& taken, const Positions& positions);

}  // namespace ropewalk
