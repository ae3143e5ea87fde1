#pragma once

#include <span>

namespace ropewalk {

// The result of Resamples (analysis/math/resampling.h) for one draw, by its formula.
inline double resampled(double estimate, std::span<const double> replicates,
                        std::span<const int> draw) {
  const auto g = static_cast<double>(replicates.size());
  double value = estimate;
  for (size_t b = 0; b < replicates.size(); ++b) {
    value += (draw[b] - 1) * (g - 1) / g * (estimate - replicates[b]);
  }
  return value;
}

}  // namespace ropewalk
