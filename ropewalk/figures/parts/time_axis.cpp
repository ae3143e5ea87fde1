#include "ropewalk/figures/parts/time_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kZeroShare = 0.06;   // on a logarithmic axis: from 0 to the first number
constexpr double kBetweenLabels = 8;  // fewest pixels
constexpr double kTicks = 7.5;        // about this many on a linear axis

bool is_tokens(TimeAxis axis) { return axis == TimeAxis::tokens || axis == TimeAxis::log_tokens; }

// The position of a number, in any unit.
class Scale {
 public:
  Scale(const std::vector<int64_t>& times, bool logarithmic) : logarithmic_(logarithmic) {
    const auto first = std::find_if(times.begin(), times.end(),
                                    [&](int64_t time) { return !logarithmic || time > 0; });
    if (first == times.end()) return;
    low_ = static_cast<double>(*first);
    high_ = static_cast<double>(times.back());
    const double range = logarithmic ? std::log(high_ / low_) : high_ - low_;
    zero_ = logarithmic && first != times.begin();
    before_ = zero_ ? std::max(kZeroShare / (1 - kZeroShare) * range, 1e-9) : 0;
    whole_ = before_ + range;
  }

  double position(double time) const {
    if (whole_ <= 0 || (logarithmic_ && time <= 0)) return 0;
    const double from_low = logarithmic_ ? std::log(time / low_) : time - low_;
    return kTimeLength * (before_ + from_low) / whole_;
  }

  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (zero_) ticks.push_back(0);
    if (whole_ <= 0 || high_ <= low_) {
      ticks.push_back(high_);
      return ticks;
    }
    if (!logarithmic_ || high_ < 10 * low_) {
      add_round(ticks);
      return ticks;
    }
    // few powers of ten: 2 and 5 times these get ticks too
    const bool between = high_ < 1000 * low_;
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
      for (const double digit : {1, 2, 5}) {
        const double tick = digit * power;
        if (tick >= low_ && tick <= high_ && (digit == 1 || between)) ticks.push_back(tick);
      }
    }
    return ticks;
  }

 private:
  void add_round(std::vector<double>& ticks) const {
    const double rough = std::max((high_ - low_) / kTicks, 1.0);
    double step = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if (step < rough) step *= factor;
    }
    for (double i = std::ceil(low_ / step); i * step <= high_; ++i) ticks.push_back(i * step);
  }

  bool logarithmic_;
  bool zero_ = false;
  double low_ = 0, high_ = 0, before_ = 0, whole_ = 0;
};

}  // namespace

std::string time_text(double time) {
  size_t unit = 0;
  for (; time >= 1000 && unit < 4; ++unit) time /= 1000;
  constexpr std::string_view kUnits = "kMBT";
  return fmt::format("{:.6g}{}", time, unit == 0 ? std::string_view() : kUnits.substr(unit - 1, 1));
}

TimeAxis time_axis(std::string_view name) {
  const auto found = std::find(kTimeAxes.begin(), kTimeAxes.end(), name);
  return static_cast<TimeAxis>(found - kTimeAxes.begin());
}

std::string_view time_axis_name(TimeAxis axis) { return kTimeAxes[static_cast<size_t>(axis)]; }

int64_t TimedLabel::at(TimeAxis axis) const { return is_tokens(axis) ? tokens : step; }

std::string time_problem(const std::vector<TimedLabel>& run, TimeAxis axis) {
  if (axis == TimeAxis::labels) return {};
  const char* key = is_tokens(axis) ? "tokens" : "step";
  const std::string_view name = time_axis_name(axis);
  for (size_t i = 0; i < run.size(); ++i) {
    const int64_t time = run[i].at(axis);
    if (time < 0) {
      return fmt::format(
          "axis {}: '{}' does not state its {}; give it {}: N in the experiment, or use the axis "
          "labels",
          name, printable(run[i].label), key, key);
    }
    const int64_t before = i > 0 ? run[i - 1].at(axis) : -1;
    if (time > before) continue;
    return fmt::format(
        "axis {}: '{}' ({} {}) comes after '{}' ({} {}); give them {}: N in the experiment, "
        "counted from the beginning of training, or use the axis labels",
        name, printable(run[i].label), key, time, printable(run[i - 1].label), key, before, key);
  }
  return {};
}

TimePositions time_positions(const std::vector<int64_t>& times, bool logarithmic,
                             double unit_width) {
  const Scale scale(times, logarithmic);
  TimePositions positions;
  for (const int64_t time : times)
    positions.along.push_back(scale.position(static_cast<double>(time)));
  double free = -INFINITY;
  for (const double tick : scale.ticks()) {
    const std::string text = time_text(tick);
    const double middle = scale.position(tick) * unit_width;
    const double half = text_width(text, theme::kLabelSize) / 2;
    if (middle - half < free) continue;
    free = middle + half + kBetweenLabels;
    positions.ticks.emplace_back(scale.position(tick), text);
  }
  return positions;
}

std::string time_title(TimeAxis axis) {
  std::string title = is_tokens(axis) ? "training tokens" : "training steps";
  if (axis == TimeAxis::log_steps || axis == TimeAxis::log_tokens) title += " (logarithmic)";
  return title;
}

}  // namespace ropewalk
