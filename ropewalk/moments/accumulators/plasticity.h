#pragma once

#include "ropewalk/moments/accumulator.h"

namespace ropewalk {

// Queries and keys of one token per bucket of positions of the first documents
// (moments/plasticity_sample.h), as attention sees them. Fields, zero where nothing was measured,
// so that parts add:
//   query.sample, key.sample  [documents, buckets, d]
//   key.position              [documents, buckets]: the token's place in the document, plus 1
//   key.block                 [documents]: the document's block, plus 1
// Vectors are rounded to float16 where that holds them.
const Accumulator& plasticity();

}  // namespace ropewalk
