#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

// A query head of a layer, both counted from 0.
struct QueryHead {
  int32_t layer = 0;
  int32_t q_head = 0;
  auto operator<=>(const QueryHead&) const = default;
};

struct SampledHeads {
  std::vector<QueryHead> drawn;   // in the order drawn; in candidate order where all were taken
  std::vector<QueryHead> sorted;  // by layer, then head
};

// Every (layer, query head) of `layers`, in order; each layer has `n_heads` heads.
std::vector<QueryHead> head_candidates(std::span<const int32_t> layers, int32_t n_heads);

// Draws the same heads as Python's `random.Random(seed).sample(candidates, count)`; all candidates
// where `count` is not less than their number. Throws UsageError where count < 1 or there is no
// candidate.
SampledHeads sample_heads(const std::vector<QueryHead>& candidates, int64_t count, int64_t seed);

}  // namespace ropewalk
