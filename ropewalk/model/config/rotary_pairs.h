#pragma once

#include <cstdint>

namespace ropewalk {

struct ModelConfig;

// Which dimensions of a head RoPE turns together.
struct RotaryPairs {
  int64_t dim = 0;           // dimensions that turn, from the front of the head
  bool interleaved = false;  // pair f: (2f, 2f + 1) rather than (f, f + dim / 2)

  int64_t count() const { return dim / 2; }
};

// Of a layer; of a NoPE layer as if it turned, and of a model without RoPE half-split.
RotaryPairs rotary_pairs(const ModelConfig& config, int64_t layer);

}  // namespace ropewalk
