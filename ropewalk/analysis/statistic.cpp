#include "ropewalk/analysis/statistic.h"

#include <algorithm>
#include <stdexcept>

namespace ropewalk {

// The list: one line per file of statistics/, in the order of the table's columns.
#define ROPEWALK_STATISTICS(X) \
  X(explained_variance)        \
  X(r_q)                       \
  X(r_k)                       \
  X(pc0_stability)

namespace statistic {
#define ROPEWALK_DECLARE(name) const Statistic& name();
ROPEWALK_STATISTICS(ROPEWALK_DECLARE)
#undef ROPEWALK_DECLARE
}  // namespace statistic

namespace {

std::vector<const Statistic*>& list() {
#define ROPEWALK_ENTRY(name) &statistic::name(),
  static std::vector<const Statistic*> all{ROPEWALK_STATISTICS(ROPEWALK_ENTRY)};
#undef ROPEWALK_ENTRY
  return all;
}

}  // namespace

const std::vector<const Statistic*>& statistics() { return list(); }

size_t statistic_place(std::string_view key) {
  const auto found = std::find_if(list().begin(), list().end(),
                                  [&](const Statistic* one) { return one->key == key; });
  if (found == list().end()) throw std::logic_error("no statistic " + std::string(key));
  return static_cast<size_t>(found - list().begin());
}

std::vector<PlacedReading> all_readings() {
  std::vector<PlacedReading> readings;
  for (const bool headline : {true, false}) {
    for (size_t place = 0; place < list().size(); ++place) {
      const Statistic& statistic = *list()[place];
      if (statistic.headline != headline) continue;
      for (const Reading& reading : statistic.readings) {
        readings.push_back({place, &statistic, &reading});
      }
    }
  }
  return readings;
}

AddedStatistic::AddedStatistic(const Statistic& statistic) : statistic_(&statistic) {
  list().push_back(statistic_);
}

AddedStatistic::~AddedStatistic() { std::erase(list(), statistic_); }

}  // namespace ropewalk
