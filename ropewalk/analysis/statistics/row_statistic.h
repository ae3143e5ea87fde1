#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

inline constexpr double kAnyRow = std::numeric_limits<double>::max();

// A statistic that is a mean of probabilities.
inline Statistic row_share(const std::string& key, const std::string& title,
                           const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::share, 0, 1, true);
}
// A statistic that says how many times larger a probability is than it would be by chance.
inline Statistic row_lift(const std::string& key, const std::string& title,
                          const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::size, 0, kAnyRow);
}

// Marks statistics as those of rows of attention: they change when only the context changes, so
// that changes between contexts get a flag.
inline std::vector<Statistic> of_rows(std::vector<Statistic> list) {
  for (Statistic& one : list) one.of_rows = true;
  return list;
}

}  // namespace ropewalk
