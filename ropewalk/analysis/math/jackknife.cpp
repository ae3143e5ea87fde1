#include "ropewalk/analysis/math/jackknife.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ropewalk {

double jackknife_se(double estimate, std::span<const double> replicates,
                    std::span<const double> sizes) {
  // Blocks without tokens of this stream do not count.
  const auto g = static_cast<double>(
      std::count_if(sizes.begin(), sizes.end(), [](double s) { return s > 0; }));
  if (g < 2) return std::numeric_limits<double>::quiet_NaN();
  const double n = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double centre = g * estimate;
  for (size_t b = 0; b < replicates.size(); ++b) {
    if (sizes[b] > 0) centre -= (1 - sizes[b] / n) * replicates[b];
  }
  double variance = 0;
  for (size_t b = 0; b < replicates.size(); ++b) {
    if (!(sizes[b] > 0)) continue;
    const double h = n / sizes[b];
    const double pseudo = h * estimate - (h - 1) * replicates[b];
    variance += (pseudo - centre) * (pseudo - centre) / (h - 1);
  }
  return std::sqrt(variance / g);
}

}  // namespace ropewalk
