#pragma once

#include <vector>

namespace ropewalk {

// For each p-value, the smallest false discovery rate at which it would be a discovery (Benjamini &
// Hochberg 1995). NaN stays NaN and does not count.
std::vector<double> false_discovery_rates(const std::vector<double>& p_values);

}  // namespace ropewalk
