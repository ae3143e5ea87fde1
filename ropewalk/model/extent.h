#pragma once

#include <algorithm>
#include <cstdint>

namespace ropewalk {

// What is needed of a weight or a layer: its queries and keys only, all of the layer, or the logits
// after the last layer. Each value includes those before it.
enum class Needed { qk, layer, head };

// How far a pass goes: through whole layers up to the last one, and what it needs of that one. The
// caller states it; nothing beyond it is read or computed.
struct Extent {
  int64_t last_layer = 0;
  Needed of_last = Needed::qk;  // head: last_layer is the model's last

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
