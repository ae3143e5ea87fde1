#pragma once

#include <cstdint>

namespace ropewalk {

inline constexpr int64_t kOrderLanes = 16;

// Compares two rows of `steps` times `lanes` numbers, `lanes` a multiple of kOrderLanes: counts for
// each lane in how many steps a's number is above b's, and in how many below.
void count_orders(const float* a, const float* b, int64_t steps, int64_t lanes, int32_t* above,
                  int32_t* below);

}  // namespace ropewalk
