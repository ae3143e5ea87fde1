#pragma once

#include "ropewalk/kernels/moments/moments.h"
#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Moments of every token's queries and keys (kernels/moments/moments.h). Every capture has them;
// their fields have no prefix before "query" and "key".
const Accumulator& second_moments();

// The moments of one kind among the fields of second_moments().
Moments moments_of(const std::vector<at::Tensor>& fields, StreamKind kind);

}  // namespace ropewalk
