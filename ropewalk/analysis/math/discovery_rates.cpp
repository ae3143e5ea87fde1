#include "ropewalk/analysis/math/discovery_rates.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

std::vector<double> false_discovery_rates(const std::vector<double>& p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> rates(p_values.size(), std::nan(""));
  double smallest = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    smallest = std::min(
        smallest, p_values[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
    rates[i] = smallest;
  }
  return rates;
}

}  // namespace ropewalk
