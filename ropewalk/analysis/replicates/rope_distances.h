#pragma once

#include <optional>
#include <vector>

#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// How many pairs of tokens, both at positions from kFirstTokens on, stand each distance below `end`
// apart: [replicates, end]. Of all documents (row 0), and without each of the blocks listed; one
// row where that makes no difference to their shares. Without lengths, of one document of that many
// tokens.
at::Tensor pairs_by_distance(const std::optional<DocumentLengths>& lengths,
                             const std::vector<int64_t>& blocks, int64_t context, int64_t end);

// What a layer whose angles are known has for its distances.
struct LayerDistances {
  std::vector<DistanceWindow> windows;
  at::Tensor pairs;  // of pairs_by_distance, up to the end of the windows
  int64_t span = 0;
  std::vector<double> scaling{};  // mean of what scales queries at each distance; empty: nothing
};
void set_distances(RopeLayer& layer, LayerDistances distances);

}  // namespace ropewalk
