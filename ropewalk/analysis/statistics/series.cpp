#include "ropewalk/analysis/statistics/series.h"

#include <algorithm>
#include <stdexcept>

namespace ropewalk {

// One name per GROUP_series.cpp, in the order of columns and curves.
namespace series_of {
const std::vector<SeriesStatistic>& bands();
const std::vector<SeriesStatistic>& distance();
const std::vector<SeriesStatistic>& plasticity();
const std::vector<SeriesStatistic>& attended();
const std::vector<SeriesStatistic>& probes();
}  // namespace series_of

const std::vector<const SeriesStatistic*>& series() {
  static const std::vector<const SeriesStatistic*> kAll = [] {
    std::vector<const SeriesStatistic*> found;
    for (const auto* file : {&series_of::bands(), &series_of::distance(), &series_of::plasticity(),
                             &series_of::attended(), &series_of::probes()}) {
      for (const SeriesStatistic& one : *file) found.push_back(&one);
    }
    return found;
  }();
  return kAll;
}

size_t series_index(std::string_view key) {
  const auto found = std::find_if(series().begin(), series().end(),
                                  [&](const SeriesStatistic* one) { return one->key == key; });
  if (found == series().end()) throw std::logic_error("no series " + std::string(key));
  return static_cast<size_t>(found - series().begin());
}

}  // namespace ropewalk
