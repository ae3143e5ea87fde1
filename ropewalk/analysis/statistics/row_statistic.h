#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

inline constexpr double kAnyRow = std::numeric_limits<double>::max();

// A mean of probabilities, and how many times as much as by chance.
inline Statistic row_share(const std::string& key, const std::string& title,
                           const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::share, 0, 1, true);
}
inline Statistic row_lift(const std::string& key, const std::string& title,
                          const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::size, 0, kAnyRow);
}

// Statistics of rows of attention, which move with the context alone.
inline std::vector<Statistic> of_rows(std::vector<Statistic> list) {
  for (Statistic& one : list) one.of_rows = true;
  return list;
}

}  // namespace ropewalk
