#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// Logits of a head by the distance of a query from a key (docs/method.md), the softmax scale and
// the model's own bias of distance included: by case. Undefined tensors: what they need was not
// kept.
struct DistanceCurves {
  at::Tensor predicted;  // [replicates, windows]: of the mean query and key, as they turn
  at::Tensor actual;  // [replicates, windows]: mean over pairs of tokens; NaN where there is none
  at::Tensor every;   // [replicates, RopeLayer::span]: `predicted` at each distance
};

// Of a head whose rope->layer is known; computed once.
const DistanceCurves& distance_curves(const HeadReplicates& head);

// Whether the logit of a head's mean query and key is the same at every distance.
bool prefers_no_distance(const HeadReplicates& head);

}  // namespace ropewalk
