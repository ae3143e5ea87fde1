#include "ropewalk/model/config/slow_pairs.h"

#include <algorithm>
#include <numbers>

#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/rope_frequencies.h"
#include "ropewalk/model/config/rotary_pairs.h"

namespace ropewalk {

SlowPairs slow_pairs(const ModelConfig& config, int64_t layer, double cut, int64_t tokens) {
  const auto index = config.layers[static_cast<size_t>(layer)].rope_index;
  const auto [angles, factor] = rope_frequencies(config.ropes[static_cast<size_t>(index)], tokens);
  const RotaryPairs pairs = rotary_pairs(config, layer);
  const at::Tensor turns = angles.to(at::kDouble).contiguous();
  const double* angle = turns.const_data_ptr<double>();
  SlowPairs slow{{}, factor};
  for (int64_t f = 0; f < pairs.count(); ++f) {
    if (2 * std::numbers::pi / angle[f] <= cut) continue;
    slow.dimensions.push_back(pairs.interleaved ? 2 * f : f);
    slow.dimensions.push_back(pairs.interleaved ? 2 * f + 1 : f + pairs.count());
  }
  std::sort(slow.dimensions.begin(), slow.dimensions.end());
  return slow;
}

}  // namespace ropewalk
