#pragma once

#include "ropewalk/analysis/replicates/block_pairs.h"
#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// The fits of token position to what each pair of blocks leaves of a stream, [pairs, d]. `values`
// and `vectors` are the eigenvalues and eigenvectors of the whole sample's products.
at::Tensor pair_fits(BlockPairs& pairs, const StreamInput& input, const at::Tensor& values,
                     const at::Tensor& vectors);

// 1 / values, and 0 for those below `smallest` of the largest.
at::Tensor inverse_values(const at::Tensor& values, double smallest);

}  // namespace ropewalk
