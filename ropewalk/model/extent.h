#pragma once

#include <algorithm>
#include <cstdint>

namespace ropewalk {

// What a weight serves, and what a layer is taken for: its queries and keys alone, all of it, or
// the logits that follow the last layer. Each includes those before it.
enum class Needed { qk, layer, head };

// How far a pass goes: through whole layers up to the last one, and of that what is needed of it.
// The caller states it; nothing is read or computed that it does not need.
struct Extent {
  int64_t last_layer = 0;
  Needed of_last = Needed::qk;  // head: last_layer is the model's

  // A pass goes through stages: its layers, then final norm and head where they are needed.
  bool has_head() const { return of_last == Needed::head; }
  int64_t last_stage() const { return last_layer + (has_head() ? 1 : 0); }
  // What is needed of a stage.
  Needed of(int64_t stage) const {
    if (stage > last_layer) return Needed::head;
    return stage < last_layer ? Needed::layer : std::min(of_last, Needed::layer);
  }
};

}  // namespace ropewalk
