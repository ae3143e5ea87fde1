#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// Logits of a head by the distance of a query from a key (docs/method.md), without the softmax
// scale: [replicates, lags] each. Undefined tensors: what they need was not kept.
struct DistanceCurves {
  at::Tensor predicted;  // of the mean query and key, as they turn
  at::Tensor actual;     // mean over pairs of tokens; NaN where none lies so far apart
  at::Tensor near;  // [replicates]: mean of `predicted` over near distances less that over far ones
};

// Of a head whose rope->layer is known; computed once.
const DistanceCurves& distance_curves(const HeadReplicates& head);

}  // namespace ropewalk
