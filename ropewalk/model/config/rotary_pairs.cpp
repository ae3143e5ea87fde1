#include "ropewalk/model/config/rotary_pairs.h"

#include "ropewalk/model/config/config.h"

namespace ropewalk {

RotaryPairs rotary_pairs(const ModelConfig& config, int64_t layer) {
  if (config.ropes.empty()) return {config.d_head, false};
  const auto index = config.layers[static_cast<size_t>(layer)].rope_index;
  const RopeSettings& rope = config.ropes[static_cast<size_t>(index)];
  return {rope.rotary_dim, rope.interleaved};
}

}  // namespace ropewalk
