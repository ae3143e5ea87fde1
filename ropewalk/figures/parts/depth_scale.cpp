#include "ropewalk/figures/parts/depth_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr int kSteps = 8;          // of a colour ramp
constexpr double kAlmost = 0.999;  // close to the end of a ramp, where the colours have a step

}  // namespace

DepthScale::DepthScale(const IndexedView& indexed, const std::vector<double>& numbers)
    : hue_(indexed.view->hue) {
  double lowest = 0, largest = 0;
  for (const double number : numbers) {
    lowest = std::min(lowest, number);
    largest = std::max(largest, std::abs(number));
  }
  // Both sides have the same range.
  high_ = view_limits(indexed, lowest, numbers.empty() ? std::nan("") : largest).high;
  if (!has_limits(indexed) && largest > 0) {
    const int power = static_cast<int>(std::floor(std::log10(largest)));
    // Cells have room for four digits.
    const bool fits = power >= -1 && power <= 3;
    if (!fits) unit_ = std::pow(10, power);
    digits_ = std::clamp(2 - (fits ? power : 0), 0, 2);
  }
  // Numbers below half of the last digit are printed as 0, and have the colour of 0.
  const double step = unit_ * std::pow(10, -digits_) / 2;
  if (lowest < -step) {
    const theme::ColorRamp& below = theme::negative_ramp(hue_).colors;
    const int quarters = std::min(4, static_cast<int>(std::ceil(-4 * lowest / high_)));
    for (int i = 2 * quarters; i > 0; --i) {
      stops_.push_back({-high_ * i / kSteps, below[static_cast<size_t>(i)]});
    }
    stops_.push_back({-step, below.front()});
    stops_.push_back({-step * kAlmost, theme::hue_ramp(hue_).front()});
  }
  for (int i = 0; i <= kSteps; ++i) {
    stops_.push_back({high_ * i / kSteps, theme::hue_ramp(hue_)[static_cast<size_t>(i)]});
  }
}

std::string DepthScale::color(double value) const {
  const double inside = std::clamp(value, stops_.front().value, stops_.back().value);
  size_t next = 1;
  while (next + 1 < stops_.size() && stops_[next].value < inside) ++next;
  const Stop &from = stops_[next - 1], &to = stops_[next];
  return theme::mixed_color(from.color, to.color, (inside - from.value) / (to.value - from.value));
}

std::string DepthScale::text(double value) const { return theme::decimals(value / unit_, digits_); }

std::string DepthScale::negative_hue() const {
  return std::string(theme::negative_ramp(hue_).name);
}

Json DepthScale::domain() const {
  Json values = Json::array();
  for (const Stop& stop : stops_) values.push_back(stop.value);
  return values;
}

Json DepthScale::range() const {
  Json colors = Json::array();
  for (const Stop& stop : stops_) colors.push_back(stop.color);
  return colors;
}

Json DepthScale::ticks() const {
  Json values = Json::array();
  const double step = high_ == 1 ? 0.25 : round_step(high_);
  const double low = std::min(0.0, stops_.front().value);
  for (auto i = static_cast<int>(std::ceil(low / step - 1e-9)); i * step <= high_ * 1.0001; ++i) {
    values.push_back(i * step);
  }
  return values;
}

Json DepthScale::tick_texts() const {
  const char* format = high_ == 1 ? ".2f" : ".3~g";
  if (unit_ == 1) return {{"format", format}};
  return {{"labelExpr", fmt::format("format(datum.value / {:g}, '.3~g')", unit_)}};
}

}  // namespace ropewalk
