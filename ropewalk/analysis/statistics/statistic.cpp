#include "ropewalk/analysis/statistics/statistic.h"

#include <algorithm>
#include <stdexcept>

#include "ropewalk/analysis/cases/logit_units.h"

namespace ropewalk {

// The list: one line per file of statistics/, in the order of the table's columns, and what the
// page lists it under.
#define ROPEWALK_STATISTICS(X)                     \
  X(explained_variance, "")                        \
  X(r_q, "")                                       \
  X(r_k, "")                                       \
  X(pc0_stability, "")                             \
  X(r2, "Position without an axis")                \
  X(logits, "Logits")                              \
  X(pc0_composition, "What PC0 is made of")        \
  X(within_classes, "PCA within queries and keys") \
  X(drift_plane, "Drift plane")                    \
  X(leading_components, "More than one component") \
  X(along_run, "One axis along the run")           \
  X(shape, "Shape")                                \
  X(rope_bands, "Rotary frequencies")              \
  X(rope_drift, "Drift and the turning mean")      \
  X(distance, "Distance")                          \
  X(plasticity, "Plasticity")                      \
  X(row_targets, "What it attends to")             \
  X(row_reach, "How far it looks")                 \
  X(place_or_key, "Place or key")                  \
  X(row_logits, "Logits of rows")

namespace statistic {
#define ROPEWALK_DECLARE(name, group) const std::vector<Statistic>& name();
ROPEWALK_STATISTICS(ROPEWALK_DECLARE)
#undef ROPEWALK_DECLARE
}  // namespace statistic

namespace {

struct File {
  const std::vector<Statistic>* statistics;
  const char* group;
};

const std::vector<File>& files() {
#define ROPEWALK_ENTRY(name, group) {&statistic::name(), group},
  static const std::vector<File> kFiles{ROPEWALK_STATISTICS(ROPEWALK_ENTRY)};
#undef ROPEWALK_ENTRY
  return kFiles;
}

std::vector<const Statistic*>& list() {
  static std::vector<const Statistic*> all = [] {
    std::vector<const Statistic*> found;
    for (const File& file : files()) {
      for (const Statistic& one : *file.statistics) found.push_back(&one);
    }
    return found;
  }();
  return all;
}

}  // namespace

double unit_size(Unit unit, const LogitUnits& units) {
  if (unit == Unit::one) return 1;
  return 1 / ((unit == Unit::logits_per_token ? units.scale : 1) * (units.context - 1));
}

Statistic head_statistic(const std::string& key, const std::string& title, Hue hue,
                         const std::string& definition, ChangeScale scale, double low, double high,
                         bool depth) {
  constexpr double kWhole = std::numeric_limits<double>::max();
  Statistic statistic{.key = key, .title = title, .definition = definition, .scale = scale};
  statistic.table = Table::heads;
  statistic.per = Per::head;
  statistic.low = low;
  statistic.high = high;
  Reading reading;
  reading.key = key;
  reading.name = title;
  reading.hue = hue;
  if (low > -kWhole) reading.low = low;
  if (high < kWhole) reading.high = high;
  reading.mean = "mean_" + key;
  if (depth) reading.depth = "depth_" + key;
  reading.mean_name = "mean " + title;
  reading.hint = definition;
  statistic.readings = {reading};
  return statistic;
}

Statistic with_absolute(Statistic statistic) {
  Reading reading = statistic.readings.front();
  reading.absolute = true;
  reading.low = 0;
  for (std::string* key : {&reading.mean, &reading.depth}) {
    if (!key->empty()) key->insert(key->size() - reading.key.size(), "abs_");
  }
  reading.key = "abs_" + reading.key;
  reading.name = "|" + reading.name + "|";
  reading.mean_name = "mean " + reading.name;
  statistic.readings.push_back(reading);
  return statistic;
}

std::vector<Statistic> computed_by(at::Tensor (*compute)(const HeadCases&),
                                   std::vector<Statistic> members) {
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].compute = compute;
    members[i].member = static_cast<int64_t>(i);
  }
  return members;
}

const std::vector<const Statistic*>& statistics() { return list(); }

std::string statistic_group(const Statistic& statistic) {
  for (const File& file : files()) {
    for (const Statistic& one : *file.statistics) {
      if (&one == &statistic) return file.group;
    }
  }
  return "";
}

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
