#pragma once

#include <cstdint>

namespace ropewalk {

// What a weight serves, and what a layer is taken for: its queries and keys alone, or all of it,
// queries and keys included.
enum class Needed { qk, layer };

// How far a pass goes: through whole layers up to the last one, and of that what is needed of it.
// The caller states it; nothing is read or computed that it does not need.
struct Extent {
  int64_t last_layer = 0;
  Needed of_last = Needed::qk;

  // What is needed of layer 0 … last_layer.
  Needed of(int64_t layer) const { return layer < last_layer ? Needed::layer : of_last; }
};

}  // namespace ropewalk
