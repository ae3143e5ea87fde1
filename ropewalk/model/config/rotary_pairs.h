#pragma once

#include <cstdint>

namespace ropewalk {

struct ModelConfig;

// The dimensions of a head that RoPE turns together.
struct RotaryPairs {
  int64_t dim = 0;           // dimensions that turn, from the front of the head
  bool interleaved = false;  // pair f is (2f, 2f + 1) instead of (f, f + dim / 2)

  int64_t count() const { return dim / 2; }
};

// The pairs of a layer. A NoPE layer gets the pairs it would have with RoPE; a model without RoPE
// gets half-split pairs.
RotaryPairs rotary_pairs(const ModelConfig& config, int64_t layer);

}  // namespace ropewalk
