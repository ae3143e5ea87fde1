#include "ropewalk/moments/head_sampling.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/python_random.h"

namespace ropewalk {

std::vector<QueryHead> head_candidates(std::span<const int32_t> layers, int32_t n_heads) {
  std::vector<QueryHead> candidates;
  candidates.reserve(layers.size() * static_cast<size_t>(std::max(n_heads, 0)));
  for (const int32_t layer : layers) {
    for (int32_t head = 0; head < n_heads; ++head) candidates.push_back({layer, head});
  }
  return candidates;
}

SampledHeads sample_heads(const std::vector<QueryHead>& candidates, int64_t count, int64_t seed) {
  if (count < 1) throw UsageError("heads: count is {}; expected at least 1", count);
  if (candidates.empty()) throw UsageError("heads: there is no head to sample from");
  const int64_t available = static_cast<int64_t>(candidates.size());
  SampledHeads heads;
  if (count >= available) {
    heads.drawn = candidates;
  } else {
    for (const int64_t index : PythonRandom(seed).sample(available, count)) {
      heads.drawn.push_back(candidates[static_cast<size_t>(index)]);
    }
  }
  heads.sorted = heads.drawn;
  std::ranges::sort(heads.sorted);
  return heads;
}

}  // namespace ropewalk
