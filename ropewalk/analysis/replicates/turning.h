#pragma once

#include <vector>

#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/model/config/config.h"

namespace ropewalk {

// The factor that scales queries at position t (ModelConfig::QueryScaling).
double query_scale(const ModelConfig::QueryScaling& scaling, int64_t t);

// RopeLayer::Turn for documents of these lengths and the angles `theta` [pairs] per token: over all
// documents (row 0), and without each of the listed blocks (rows 1 …; NaN where it is unknown which
// documents they hold). `scaling` is applied to queries; null: none.
RopeLayer::TurnCovariance mean_turn(const at::Tensor& theta, const DocumentLengths& lengths,
                                    const std::vector<int64_t>& blocks,
                                    const ModelConfig::QueryScaling* scaling);

// The mean factor of queries at each distance below `end`, over all pairs of tokens in documents of
// these lengths, both at positions from kFirstTokens on. 1 where there are no such pairs.
std::vector<double> scaling_by_distance(const LengthCounts& lengths, int64_t end,
                                        const ModelConfig::QueryScaling& scaling);

}  // namespace ropewalk
