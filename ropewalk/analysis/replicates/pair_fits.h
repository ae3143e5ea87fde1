#pragma once

#include "ropewalk/analysis/replicates/block_pairs.h"
#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Fits of the token position by a stream without each pair of blocks, [pairs, d]. `values` and
// `vectors` are the eigenvalues and eigenvectors of the whole sample's products.
at::Tensor pair_fits(BlockPairs& pairs, const StreamInput& input, const at::Tensor& values,
                     const at::Tensor& vectors);

// 1 / values, but 0 for values below `smallest` times the largest.
at::Tensor inverse_values(const at::Tensor& values, double smallest);

}  // namespace ropewalk
