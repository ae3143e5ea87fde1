#include "ropewalk/figures/parts/head_band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ropewalk {
namespace {

// The quantile of sorted values by linear interpolation, as in numpy. `sorted` must not be empty.
double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

BandEnds band_ends(const HeadMean& mean, const std::vector<double>& heads, const Limits& limits,
                   Band kind) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(mean.mean) || std::isnan(mean.sd)) return {kNone, kNone};
  const auto ended = [&](double low, double high) {
    return BandEnds{std::max(low, limits.low), std::min(high, limits.high)};
  };
  if (kind == Band::sd) return ended(mean.mean - mean.sd, mean.mean + mean.sd);
  std::vector<double> sorted;
  std::copy_if(heads.begin(), heads.end(), std::back_inserter(sorted),
               [](double head) { return !std::isnan(head); });
  if (sorted.empty()) return {kNone, kNone};
  std::sort(sorted.begin(), sorted.end());
  return ended(quantile(sorted, 0.25), quantile(sorted, 0.75));
}

std::string band_words(Band kind, size_t count, bool cut) {
  const char* name = count == 1 ? "band" : "bands";
  if (kind == Band::quartiles) {
    return fmt::format("{}: the middle half of the heads, because ±1 SD would exceed a limit",
                       name);
  }
  return fmt::format("{}: ±1 SD across heads{}", name, cut ? ", cut off at the limit" : "");
}

}  // namespace ropewalk
