#pragma once

#include <cstdint>
#include <vector>

namespace ropewalk {

struct ModelConfig;

// The rotary pairs of a layer that take more than `cut` tokens for a turn, in a document of that
// many tokens.
struct SlowPairs {
  std::vector<int64_t> dimensions;  // their dimensions in a head, ascending
  double attention_factor = 1;      // RoPE's factor of them, whether they are turned or not
  bool any() const { return !dimensions.empty(); }
};
SlowPairs slow_pairs(const ModelConfig& config, int64_t layer, double cut, int64_t tokens);

}  // namespace ropewalk
