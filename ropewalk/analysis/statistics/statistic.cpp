#include "ropewalk/analysis/statistics/statistic.h"

#include <algorithm>
#include <stdexcept>

#include "ropewalk/analysis/replicates/logit_units.h"

namespace ropewalk {

// One line per file of statistics/, in the order of the table's columns, and the heading under
// which the page lists it.
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
  X(row_logits, "Largest logits")                  \
  X(probe_targets, "Probes")

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
  statistic.per = Granularity::head;
  statistic.low = low;
  statistic.high = high;
  StatisticView view;
  view.key = key;
  view.name = title;
  view.hue = hue;
  if (low > -kWhole) view.low = low;
  if (high < kWhole) view.high = high;
  view.mean = "mean_" + key;
  if (depth) view.depth = "depth_" + key;
  view.mean_name = "mean " + title;
  view.hint = definition;
  statistic.views = {view};
  return statistic;
}

Statistic with_absolute(Statistic statistic) {
  StatisticView view = statistic.views.front();
  view.absolute = true;
  view.low = 0;
  for (std::string* key : {&view.mean, &view.depth}) {
    if (!key->empty()) key->insert(key->size() - view.key.size(), "abs_");
  }
  view.key = "abs_" + view.key;
  view.name = "|" + view.name + "|";
  view.mean_name = "mean " + view.name;
  statistic.views.push_back(view);
  return statistic;
}

std::vector<Statistic> computed_by(at::Tensor (*compute)(const HeadReplicates&),
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

size_t statistic_index(std::string_view key) {
  const auto found = std::find_if(list().begin(), list().end(),
                                  [&](const Statistic* one) { return one->key == key; });
  if (found == list().end()) throw std::logic_error("no statistic " + std::string(key));
  return static_cast<size_t>(found - list().begin());
}

std::vector<IndexedView> all_views() {
  std::vector<IndexedView> views;
  for (const bool headline : {true, false}) {
    for (size_t index = 0; index < list().size(); ++index) {
      const Statistic& statistic = *list()[index];
      if (statistic.headline != headline) continue;
      for (const StatisticView& view : statistic.views) {
        views.push_back({index, &statistic, &view});
      }
    }
  }
  return views;
}

AddedStatistic::AddedStatistic(const Statistic& statistic) : statistic_(&statistic) {
  list().push_back(statistic_);
}

AddedStatistic::~AddedStatistic() { std::erase(list(), statistic_); }

}  // namespace ropewalk
