#include "ropewalk/analysis/difference.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/change.h"
#include "ropewalk/analysis/class_shares.h"
#include "ropewalk/analysis/head_changes.h"
#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/resampling.h"
#include "ropewalk/analysis/student_t.h"
#include "ropewalk/analysis/taxonomy.h"

namespace ropewalk {
namespace {

Json leaf(const Change& change) {
  const auto number = [](double v) { return std::isnan(v) ? Json() : Json(v); };
  return {{"value", number(change.value)}, {"se", number(change.se)}, {"real", change.real()}};
}

double share_error(const ClassShares& shares, size_t i) {
  const ShareInterval interval = shares.interval(i);
  return (interval.high - interval.low) / 2 / student_t_95(1e9);
}

// The reading whose changes stand for those of this one.
PlacedReading carried_reading(const PlacedReading& reading) {
  const std::string& key = reading.statistic->carried;
  if (key.empty() || reading.reading->absolute) return reading;
  const size_t place = statistic_place(key);
  const Statistic* statistic = statistics()[place];
  return {place, statistic, &statistic->readings.front()};
}

// Heads whose PC0 is the same axis in both checkpoints, and that axis the same way round.
class SameAxes {
 public:
  SameAxes(const CheckpointAnalysis& from, const CheckpointAnalysis& to,
           const Comparison& comparison)
      : to_(to) {
    const auto sign = [&](const CheckpointAnalysis& checkpoint, size_t row) {
      return comparison.axis_sign(checkpoint.layer[row], checkpoint.q_head[row]);
    };
    const std::vector<size_t> heads = to.head_rows();
    for (size_t number = 0; number < heads.size(); ++number) {
      if (sign(to, heads[number]) < 0) turn(heads[number], number, heads.size());
    }
    before_ = make_group(from, [&](size_t row) { return sign(from, row) != 0; });
    after_ = make_group(to_, [&](size_t row) { return sign(to_, row) != 0; });
  }
  SameAxes(const SameAxes&) = delete;
  SameAxes& operator=(const SameAxes&) = delete;

  const HeadGroup& before() const { return before_; }
  const HeadGroup& after() const { return after_; }

 private:
  // Turns what hangs on the sign of a head's axis: of its row of PC0, and its number among `heads`.
  void turn(size_t row, size_t number, size_t heads) {
    for (size_t place = 0; place < statistics().size(); ++place) {
      if (statistics()[place]->sign != Sign::run) continue;
      HeadColumn& column = to_.columns[place];
      column.value[row] *= -1;
      const size_t blocks = column.replicates.size() / heads;
      for (size_t b = 0; b < blocks; ++b) column.replicates[number * blocks + b] *= -1;
    }
  }

  CheckpointAnalysis to_;
  HeadGroup before_;
  HeadGroup after_;
};

Json class_changes(const HeadGroup& from, const HeadGroup& to, const Pairing& pair) {
  const ClassShares before = class_shares(from);
  const ClassShares after = class_shares(to);
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    Change change{after.values[i] - before.values[i], std::nan(""), pair.df};
    if (!before.drawn.empty() && !after.drawn.empty()) {
      std::vector<double> drawn;
      for (size_t j = 0; j < after.drawn[i].size(); ++j) {
        drawn.push_back(after.drawn[i][j] - before.drawn[i][j]);
      }
      change.se = pair.paired ? standard_deviation(drawn) : std::hypot(before.se(i), after.se(i));
      // Where hardly any draw differs, as sure as shares of so many heads are.
      if (before.without_spread(i) && after.without_spread(i))
        change.se = std::hypot(share_error(before, i), share_error(after, i));
    }
    classes[std::string(class_name(kHeadClasses[i]))] = leaf(change);
  }
  return classes;
}

// Heads in which a statistic changed, by decreasing size.
Json changed_heads(const CheckpointAnalysis& to, const std::vector<HeadChange>& heads) {
  std::vector<HeadChange> changed;
  for (const HeadChange& head : heads) {
    if (head.changed) changed.push_back(head);
  }
  std::stable_sort(changed.begin(), changed.end(), [](const HeadChange& a, const HeadChange& b) {
    return std::abs(a.change.value) > std::abs(b.change.value);
  });
  Json list = Json::array();
  for (const HeadChange& head : changed) {
    list.push_back({{"layer", to.layer[head.row]},
                    {"q_head", to.q_head[head.row]},
                    {"value", head.change.value},
                    {"se", head.change.se}});
  }
  return list;
}

// Heads whose PC0 is another axis.
Json changed_axes(const CheckpointAnalysis& to, const std::vector<HeadChange>& heads) {
  Json list = Json::array();
  for (const HeadChange& head : heads) {
    if (!head.axis_changed) continue;
    list.push_back({{"layer", to.layer[head.row]}, {"q_head", to.q_head[head.row]}});
  }
  return list;
}

}  // namespace

Json compare_checkpoints(const CheckpointAnalysis& from, const CheckpointAnalysis& to,
                         double min_change) {
  const HeadGroup before = whole_group(from);
  const HeadGroup after = whole_group(to);
  const Pairing pair = pairing(from, to);
  Json json{{"from", from.label}, {"to", to.label}, {"paired", pair.paired ? 1 : 0}};
  json["few_blocks"] = pair.df + 1 < kFewBlocks;
  const Comparison comparison({&from}, to);
  const SameAxes same(from, to, comparison);
  const auto add = [&](const std::string& key, const PlacedReading& reading, Over what) {
    if (key.empty()) return;
    const bool on_axis = reading.statistic->sign == Sign::run && !reading.reading->absolute;
    const HeadGroup& first = on_axis ? same.before() : before;
    const HeadGroup& second = on_axis ? same.after() : after;
    json[key] = leaf(subtract(estimate(first, reading, what), estimate(second, reading, what),
                              second.block_sizes, pair));
    if (on_axis) json[key]["heads"] = second.rows.size();
    if (!other_context(*reading.statistic, from, to)) return;
    json[key]["real"] = Json();
    json[key]["flag"] = kOtherContext;
  };
  for (const PlacedReading& reading : all_readings()) {
    // Means of r_q and r_k change with their axes the same way round, and not where an axis
    // changed.
    const PlacedReading of_run = carried_reading(reading);
    add(reading.reading->mean, of_run, Over::mean);
    add(reading.reading->spread, of_run, Over::spread);
  }
  json["taxonomy"] = class_changes(before, after, pair);
  for (const PlacedReading& reading : all_readings()) {
    if (!reading.statistic->list_changes || reading.reading->absolute) continue;
    const PlacedReading of_run = carried_reading(reading);
    const std::vector<HeadChange> heads = comparison.changes(of_run, min_change);
    json["heads_" + reading.statistic->key] = changed_heads(to, heads);
    if (of_run.statistic->sign == Sign::run) json["axes"] = changed_axes(to, heads);
  }
  return json;
}

}  // namespace ropewalk
