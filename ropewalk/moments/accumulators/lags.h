#pragma once

#include <optional>

#include "ropewalk/kernels/moments/lags.h"
#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Actual logits by distance: of each query head, over the pairs of tokens of a document whose
// distance lies in a window, both at positions from kFirstTokens on: sums of q·k (as the dot
// product sees them, not scaled), and how many pairs there are. In a layer whose attention slides
// the windows end where it does, and the last ones have no pair. Of documents whose positions
// follow each other.
const Accumulator& lags();

// The windows of such a capture, in a layer whose attention slides or not.
std::vector<DistanceWindow> capture_windows(const CaptureShape& shape,
                                            std::optional<int64_t> sliding = {});

// Captures of earlier versions have sums at single distances: 0, 1, 2, 3, 4, 6, 8, 12, 16, … below
// the context less kFirstTokens, in sliding layers too.
bool single_distances(const CaptureShape& shape);

}  // namespace ropewalk
