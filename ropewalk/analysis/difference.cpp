#include "ropewalk/analysis/difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ropewalk/analysis/class_shares.h"
#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/resampling.h"
#include "ropewalk/analysis/student_t.h"
#include "ropewalk/analysis/taxonomy.h"

namespace ropewalk {
namespace {

struct Change {
  double value = 0;
  double se = 0;
  double df = 0;  // degrees of freedom

  bool known() const { return !std::isnan(value) && !std::isnan(se); }
  bool real() const { return known() && std::abs(value) > student_t_95(df) * se; }
  double p_value() const {
    if (!known()) return 1;
    if (se == 0) return value == 0 ? 1 : 0;
    return 2 * student_t_cdf(-std::abs(value) / se, df);
  }
};

Json leaf(const Change& change) {
  const auto number = [](double v) { return std::isnan(v) ? Json() : Json(v); };
  return {{"value", number(change.value)}, {"se", number(change.se)}, {"real", change.real()}};
}

// From the replicates of both sides where they are paired, else from both standard errors.
Change subtract(const Estimate& from, const Estimate& to, const std::vector<double>& sizes,
                bool paired, double df) {
  Change change{to.value - from.value, std::hypot(from.se, to.se), df};
  if (paired && !to.replicates.empty()) {
    std::vector<double> replicates;
    for (size_t b = 0; b < to.replicates.size(); ++b) {
      replicates.push_back(to.replicates[b] - from.replicates[b]);
    }
    change.se = jackknife_se(change.value, replicates, sizes);
  }
  return change;
}

Json class_changes(const HeadGroup& from, const HeadGroup& to, bool paired, double df) {
  const ClassShares before = class_shares(from);
  const ClassShares after = class_shares(to);
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    Change change{after.values[i] - before.values[i], std::nan(""), df};
    if (!before.drawn.empty() && !after.drawn.empty()) {
      std::vector<double> drawn;
      for (size_t j = 0; j < after.drawn[i].size(); ++j) {
        drawn.push_back(after.drawn[i][j] - before.drawn[i][j]);
      }
      change.se = paired ? standard_deviation(drawn) : std::hypot(before.se(i), after.se(i));
    }
    classes[std::string(class_name(kHeadClasses[i]))] = leaf(change);
  }
  return classes;
}

struct HeadChange {
  int64_t layer = 0;
  int64_t q_head = 0;
  Change change;
};

// Those whose change is real, at a false discovery rate of 5 %, by decreasing size.
std::vector<HeadChange> discoveries(std::vector<HeadChange> changes) {
  constexpr double kRate = 0.05;
  std::sort(changes.begin(), changes.end(), [](const HeadChange& a, const HeadChange& b) {
    return a.change.p_value() < b.change.p_value();
  });
  size_t kept = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const double limit = kRate * static_cast<double>(i + 1) / static_cast<double>(changes.size());
    if (changes[i].change.p_value() <= limit) kept = i + 1;
  }
  changes.resize(kept);
  std::stable_sort(changes.begin(), changes.end(), [](const HeadChange& a, const HeadChange& b) {
    return std::abs(a.change.value) > std::abs(b.change.value);
  });
  return changes;
}

// Heads of both checkpoints in which a statistic changed.
Json head_changes(const CheckpointAnalysis& from, const CheckpointAnalysis& to, size_t place,
                  bool paired, double df) {
  const std::vector<size_t> former = from.head_rows(), rows = to.head_rows();
  std::map<std::pair<int64_t, int64_t>, size_t> before;
  for (size_t i = 0; i < former.size(); ++i) {
    before[{from.layer[former[i]], from.q_head[former[i]]}] = i;
  }
  std::vector<HeadChange> changes;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto found = before.find({to.layer[rows[i]], to.q_head[rows[i]]});
    if (found == before.end()) continue;
    const size_t blocks = to.block_sizes.empty() ? 0 : static_cast<size_t>(to.n_blocks[rows[i]]);
    const auto sizes = to.block_sizes.begin() + static_cast<std::ptrdiff_t>(i * blocks);
    const Change change =
        subtract(head_estimate(from, place, former[found->second], found->second),
                 head_estimate(to, place, rows[i], i),
                 {sizes, sizes + static_cast<std::ptrdiff_t>(blocks)}, paired, df);
    if (change.known()) changes.push_back({to.layer[rows[i]], to.q_head[rows[i]], change});
  }
  Json list = Json::array();
  for (const HeadChange& item : discoveries(std::move(changes))) {
    list.push_back({{"layer", item.layer},
                    {"q_head", item.q_head},
                    {"value", item.change.value},
                    {"se", item.change.se}});
  }
  return list;
}

}  // namespace

Json compare_checkpoints(const CheckpointAnalysis& from, const CheckpointAnalysis& to) {
  const HeadGroup before = whole_group(from);
  const HeadGroup after = whole_group(to);
  const bool paired = !from.documents.empty() && from.documents == to.documents &&
                      from.blocks == to.blocks && before.blocks == after.blocks;
  const double df = static_cast<double>(std::min(before.blocks, after.blocks)) - 1;
  Json json{{"from", from.label}, {"to", to.label}, {"paired", paired ? 1 : 0}};
  json["few_blocks"] = df + 1 < kFewBlocks;
  const auto add = [&](const std::string& key, const PlacedReading& reading, Over what) {
    if (key.empty()) return;
    json[key] = leaf(subtract(estimate(before, reading, what), estimate(after, reading, what),
                              after.block_sizes, paired, df));
  };
  for (const PlacedReading& reading : all_readings()) {
    add(reading.reading->mean, reading, Over::mean);
    add(reading.reading->spread, reading, Over::spread);
  }
  json["taxonomy"] = class_changes(before, after, paired, df);
  for (size_t place = 0; place < statistics().size(); ++place) {
    if (!statistics()[place]->list_changes) continue;
    json["heads_" + statistics()[place]->key] = head_changes(from, to, place, paired, df);
  }
  return json;
}

}  // namespace ropewalk
