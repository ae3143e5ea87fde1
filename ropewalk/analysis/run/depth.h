#pragma once

#include <cstdint>

namespace ropewalk {

inline constexpr int kDepthBins = 10;

// The tenth of the depth in which a layer is: right-closed, max(ceil(10 layer / last_layer) - 1, 0)
// in integers; 0 where the model has one layer.
int depth_bin(int64_t layer, int64_t last_layer);

}  // namespace ropewalk
