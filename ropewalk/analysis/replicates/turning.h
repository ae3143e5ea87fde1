#pragma once

#include <vector>

#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/model/config/config.h"

namespace ropewalk {

// What scales queries at position t (ModelConfig::QueryScaling).
double query_scale(const ModelConfig::QueryScaling& scaling, int64_t t);

// RopeLayer::Turn of documents of these lengths, for the angles `theta` [pairs] per token: of all
// documents (row 0), and without each of the blocks listed (rows 1 …; NaN where it is not known
// which documents they hold). `scaling`: of queries; null: none.
RopeLayer::TurnCovariance mean_turn(const at::Tensor& theta, const DocumentLengths& lengths,
                                    const std::vector<int64_t>& blocks,
                                    const ModelConfig::QueryScaling* scaling);

// The mean of what scales queries at each distance below `end`, over pairs of tokens of documents
// of these lengths, both at positions from kFirstTokens on. 1 where there is no pair.
std::vector<double> scaling_by_distance(const LengthCounts& lengths, int64_t end,
                                        const ModelConfig::QueryScaling& scaling);

}  // namespace ropewalk
