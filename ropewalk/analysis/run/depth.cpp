#include "ropewalk/analysis/run/depth.h"

#include <algorithm>

namespace ropewalk {

int depth_bin(int64_t layer, int64_t last_layer) {
  if (last_layer <= 0) return 0;
  const int64_t ceiling = (kDepthBins * layer + last_layer - 1) / last_layer;
  return static_cast<int>(std::clamp<int64_t>(ceiling - 1, 0, kDepthBins - 1));
}

}  // namespace ropewalk
