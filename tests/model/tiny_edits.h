#pragma once

#include <limits>
#include <vector>

#include "ropewalk/model/edit.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {

// Every edit except those that need mean outputs, on heads of the tiny checkpoint (4 query heads, 2
// key heads, head dimension 6), for documents of up to `tokens`.
inline std::vector<Edit> tiny_edits(const HeadSet& heads, int64_t tokens) {
  DistanceBias distance;
  FlattenedDrift flatten;
  RemovedAxis axis;
  uint64_t seed = 200;
  for (const auto& [layer, chosen] : heads) {
    for (const int64_t head : chosen) {
      distance.logits[{layer, head}] = 2 * random_tensor({tokens}, ++seed).to(at::kDouble);
      flatten.q[{layer, head}] = 0.02 * random_tensor({6}, ++seed);
      flatten.k[{layer, head / 2}] = 0.02 * random_tensor({6}, ++seed);
      const at::Tensor along = random_tensor({6}, ++seed);
      axis.heads[{layer, head}] = {along / along.norm(), random_tensor({6}, ++seed),
                                   random_tensor({6}, ++seed)};
    }
  }
  flatten.mean_position = static_cast<double>(tokens) / 2;
  DistanceBias mean = distance;
  mean.keep_mass = false;
  return {{"distance", heads, ScoreEdit(distance)},
          {"distance:mean", heads, ScoreEdit(mean)},
          {"window:3", heads, ScoreEdit(Window{3})},
          {"still:20", heads, VectorEdit(StillPairs{20})},
          {"zero-band:20", heads, VectorEdit(ZeroedPairs{20})},
          {"flatten", heads, VectorEdit(flatten)},
          {"axis", heads, VectorEdit(axis)},
          {"head:zero", heads, OutputEdit()}};
}

// Edits that change nothing: the same S at all distances, a window and a cut that contain
// everything, drifts of zero.
inline std::vector<Edit> tiny_idle_edits(const HeadSet& heads, int64_t tokens) {
  DistanceBias distance;
  FlattenedDrift flatten;
  for (const auto& [layer, chosen] : heads) {
    for (const int64_t head : chosen) {
      distance.logits[{layer, head}] = at::full({tokens}, 1.5, at::kDouble);
      flatten.q[{layer, head}] = at::zeros({6});
      flatten.k[{layer, head / 2}] = at::zeros({6});
    }
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return {{"distance", heads, ScoreEdit(distance)},
          {"window", heads, ScoreEdit(Window{tokens})},
          {"still", heads, VectorEdit(StillPairs{kNever})},
          {"zero-band", heads, VectorEdit(ZeroedPairs{kNever})},
          {"flatten", heads, VectorEdit(flatten)}};
}

}  // namespace ropewalk
