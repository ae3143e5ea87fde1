#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ropewalk {

// By what figures over training lay out checkpoints.
enum class TimeAxis { labels, steps, tokens, log_steps, log_tokens };

inline const std::vector<std::string_view> kTimeAxes{"labels", "steps", "tokens", "log-steps",
                                                     "log-tokens"};

inline constexpr int64_t kMostTime =
    1'000'000'000'000'000;  // steps or tokens: exact in a table's numbers

TimeAxis time_axis(std::string_view name);  // one of kTimeAxes
std::string_view time_axis_name(TimeAxis axis);

// A checkpoint's label and its times; below 0: not known.
struct TimedLabel {
  std::string label;
  int64_t step = -1;
  int64_t tokens = -1;

  int64_t at(TimeAxis axis) const;
};

// Why a run, in the order of training and without baselines, cannot be laid out by an axis, and
// what to do; empty: it can. Each checkpoint has to have its number, larger than the one before.
std::string time_problem(const std::vector<TimedLabel>& run, TimeAxis axis);

// Places of increasing numbers along an axis, from 0 to kTimeLength, and its ticks. On a
// logarithmic axis 0 has a place of its own, left of the others.
struct TimePositions {
  std::vector<double> along;
  std::vector<std::pair<double, std::string>> ticks;  // place, text
};
inline constexpr double kTimeLength = 7;
TimePositions time_positions(const std::vector<int64_t>& times, bool logarithmic,
                             double unit_width);

// "500", "1.5k", "143k", "428B"
std::string time_text(double time);

// "training steps" or "training tokens", with "(logarithmic)".
std::string time_title(TimeAxis axis);

}  // namespace ropewalk
