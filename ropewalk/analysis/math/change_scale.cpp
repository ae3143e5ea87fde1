#include "ropewalk/analysis/math/change_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ropewalk {
namespace {

constexpr double kNearlyOne = 1 - 1e-9;  // atanh of a correlation of 1 is infinite
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// The quantile of sorted values, with linear interpolation.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double ChangeScale::of(double value) const {
  if (std::isnan(value)) return value;
  switch (kind_) {
    case correlation:
      return std::atanh(std::clamp(value, -kNearlyOne, kNearlyOne));
    case r_squared:
      return std::atanh(std::min(std::sqrt(std::max(value, 0.0)), kNearlyOne));
    case share:
      return std::asin(std::sqrt(std::clamp(value, 0.0, 1.0)));
    case size:
      return value > 0 ? std::log2(value) : kUndefined;
    case distance:
      return std::log2(1 + std::max(value, 0.0));
    case plain:
    case part:
      break;
  }
  return value;
}

double ChangeScale::floor() const {
  const bool angles = kind_ == correlation || kind_ == r_squared || kind_ == share || kind_ == part;
  return angles ? 0.05 : 0.1;
}

const char* ChangeScale::name() const {
  constexpr const char* kNames[] = {"correlation", "r_squared", "share", "size",
                                    "distance",    "plain",     "part"};
  return kNames[kind_];
}

double robust_spread(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kUndefined;
  std::sort(values.begin(), values.end());
  // distance between the quartiles of a normal distribution, in standard deviations
  constexpr double kQuartilesApart = 1.349;
  return (quantile(values, 0.75) - quantile(values, 0.25)) / kQuartilesApart;
}

}  // namespace ropewalk
