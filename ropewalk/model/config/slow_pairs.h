#pragma once

#include <cstdint>
#include <vector>

namespace ropewalk {

struct ModelConfig;

// Rotary pairs of a layer that take more than `cut` tokens for a turn, in a document of so many.
struct SlowPairs {
  std::vector<int64_t> dimensions;  // of a head that they take, ascending
  double attention_factor = 1;      // by which RoPE multiplies them, turned or not
  bool any() const { return !dimensions.empty(); }
};
SlowPairs slow_pairs(const ModelConfig& config, int64_t layer, double cut, int64_t tokens);

}  // namespace ropewalk
