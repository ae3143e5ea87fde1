#pragma once

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Actual logits by distance. For each query head, over the pairs of tokens of a document that are a
// lag apart, both at positions from kFirstTokens on: the sum of q·k (as in the dot product, not
// scaled), the sum of its square, and the number of pairs. The lags are lags_below()
// (kernels/moments/lags.h) the context minus kFirstTokens. Positions of a document must be
// consecutive.
const Accumulator& lags();

// The lags of such a capture.
std::vector<int64_t> capture_lags(const CaptureShape& shape);

}  // namespace ropewalk
