#pragma once

#include "ropewalk/analysis/cases/head_cases.h"
#include "ropewalk/analysis/cases/rope_cases.h"

namespace ropewalk {

// A flag of heads.csv: captures of earlier versions took logits at single distances, which do not
// compare with those over windows.
inline constexpr const char* kSingleDistances = "single_distances";

// Logits of a head by the distance of a query from a key (docs/method.md), the softmax scale and
// the model's own bias of distance included: by case. Undefined tensors: what they need was not
// kept.
struct DistanceCurves {
  at::Tensor predicted;  // [cases, windows]: of the mean query and key, as they turn
  at::Tensor actual;     // [cases, windows]: mean over pairs of tokens; NaN where there is none
  at::Tensor every;      // [cases, RopeLayer::span]: `predicted` at each distance
};

// Of a head whose rope->layer is known; computed once.
const DistanceCurves& distance_curves(const HeadCases& head);

// Whether the logit of a head's mean query and key is the same at every distance.
bool prefers_no_distance(const HeadCases& head);

}  // namespace ropewalk
