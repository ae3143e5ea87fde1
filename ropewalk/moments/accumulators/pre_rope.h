#pragma once

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Sums of queries and keys before RoPE, from the same pass as those after it. Tokens at positions
// from kFirstTokens on and those before it (attention sinks) are summed separately. Products of all
// dimensions are kept for all documents together; a block has sums, squares, and the products of
// the two dimensions of each rotary pair. All sums are about zero, so that parts add up.
const Accumulator& pre_rope();

inline constexpr int64_t kFirstTokens = 4;

}  // namespace ropewalk
