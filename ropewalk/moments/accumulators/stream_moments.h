#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/moments/moments.h"
#include "ropewalk/model/tap.h"

namespace ropewalk {

// The vectors of some heads among a layer's vectors [heads, T, d].
at::Tensor chosen_heads(const at::Tensor& vectors, const std::vector<int64_t>& heads);

// Moments of a document's vectors of these heads, on the CPU; `positions` are those of the vectors.
// Throws InputError on values that are not finite; `what` names the vectors.
Moments stream_moments(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                       const char* what, const TappedVectors& taken, const Positions& positions);

}  // namespace ropewalk
