#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ropewalk {

// How figures over training arrange checkpoints.
enum class TimeAxis { labels, steps, tokens, log_steps, log_tokens };

inline const std::vector<std::string_view> kTimeAxes{"labels", "steps", "tokens", "log-steps",
                                                     "log-tokens"};

inline constexpr int64_t kMostTime =
    1'000'000'000'000'000;  // steps or tokens: a table's numbers are exact up to here

TimeAxis time_axis(std::string_view name);  // `name` must be one of kTimeAxes
std::string_view time_axis_name(TimeAxis axis);

// A checkpoint's label and its times; negative: unknown.
struct TimedLabel {
  std::string label;
  int64_t step = -1;
  int64_t tokens = -1;

  int64_t at(TimeAxis axis) const;
};

// The reason why a run, given in the order of training and without baselines, cannot be arranged by
// this axis, and what to do; empty: it can. Each checkpoint needs a number that is larger than the
// one before.
std::string time_problem(const std::vector<TimedLabel>& run, TimeAxis axis);

// Positions of increasing numbers along an axis, from 0 to kTimeLength, and its ticks. On a
// logarithmic axis, 0 has a position of its own, left of the others.
struct TimePositions {
  std::vector<double> along;
  std::vector<std::pair<double, std::string>> ticks;  // position, text
};
inline constexpr double kTimeLength = 7;
TimePositions time_positions(const std::vector<int64_t>& times, bool logarithmic,
                             double unit_width);

// "500", "1.5k", "143k", "428B"
std::string time_text(double time);

// "training steps" or "training tokens", with "(logarithmic)" where it applies.
std::string time_title(TimeAxis axis);

}  // namespace ropewalk
