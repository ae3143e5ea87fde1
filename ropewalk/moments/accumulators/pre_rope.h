#pragma once

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Sums of queries and keys before RoPE, in the pass that takes them after it: of tokens at
// positions from kFirstTokens on, and of those before it apart (attention sinks). Products of
// all dimensions are kept of all documents together; a block has sums, squares, and the product of
// the two dimensions of each rotary pair. All about zero, so that parts add.
const Accumulator& pre_rope();

inline constexpr int64_t kFirstTokens = 4;

}  // namespace ropewalk
