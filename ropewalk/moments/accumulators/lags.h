#pragma once

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Actual logits by distance: of each query head, over the pairs of tokens of a document that lie a
// lag apart, both at positions from kFirstTokens on: sums of q·k (as the dot product sees them, not
// scaled), of its square, and how many pairs there are. Lags: lags_below (kernels/moments/lags.h)
// the context less kFirstTokens. Of documents whose positions follow each other.
const Accumulator& lags();

// Those of such a capture.
std::vector<int64_t> capture_lags(const CaptureShape& shape);

}  // namespace ropewalk
