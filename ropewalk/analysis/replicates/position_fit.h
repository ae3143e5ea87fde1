#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// How well linear regression predicts the position from a stream's vectors, without choosing an
// axis: the squared multiple correlation, and the same cross-validated over blocks, where each
// block is predicted by a fit to the others (docs/method.md). Directions with less than 1e-9 of the
// largest variance are left out (1e-6 in fits without a block). Computed once per stream.
struct PositionFit {
  at::Tensor r2;         // [replicates]
  at::Tensor r2_cv;      // [replicates]; NaN without two blocks
  bool dropped = false;  // whether the fit to the whole sample left out a direction
};
PositionFit position_fit(const StreamReplicates& stream);

}  // namespace ropewalk
