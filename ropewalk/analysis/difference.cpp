#include "ropewalk/analysis/difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/resampling.h"
#include "ropewalk/analysis/statistics.h"
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
  if (paired) {
    std::vector<double> replicates;
    for (size_t b = 0; b < to.replicates.size(); ++b) {
      replicates.push_back(to.replicates[b] - from.replicates[b]);
    }
    change.se = jackknife_se(change.value, replicates, sizes);
  }
  return change;
}

Json class_changes(const HeadGroup& from, const HeadGroup& to, bool paired, double df) {
  const ClassFractions before = class_fractions(from);
  const ClassFractions after = class_fractions(to);
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    Change change{after.values[i] - before.values[i], std::nan(""), df};
    if (!before.drawn.empty() && !after.drawn.empty()) {
      std::vector<double> drawn;
      for (size_t j = 0; j < after.drawn[i].size(); ++j) {
        drawn.push_back(after.drawn[i][j] - before.drawn[i][j]);
      }
      change.se = paired ? standard_deviation(drawn)
                         : std::hypot(standard_deviation(before.drawn[i]),
                                      standard_deviation(after.drawn[i]));
    }
    classes[std::string(class_name(kHeadClasses[i]))] = leaf(change);
  }
  return classes;
}

struct HeadChange {
  const HeadAnalysis* head = nullptr;
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

Json head_changes(const CheckpointAnalysis& from, const CheckpointAnalysis& to,
                  std::vector<Estimate> HeadComponents::*quantity, bool paired, double df) {
  std::map<std::pair<int64_t, int64_t>, const HeadAnalysis*> before;
  for (const HeadAnalysis& head : from.heads) before[{head.layer, head.q_head}] = &head;
  std::vector<HeadChange> changes;
  for (const HeadAnalysis& head : to.heads) {
    const auto found = before.find({head.layer, head.q_head});
    if (found == before.end()) continue;
    const Change change =
        subtract((found->second->components.*quantity)[0], (head.components.*quantity)[0],
                 head.components.block_sizes, paired, df);
    if (change.known()) changes.push_back({&head, change});
  }
  Json list = Json::array();
  for (const HeadChange& item : discoveries(std::move(changes))) {
    list.push_back({{"layer", item.head->layer},
                    {"q_head", item.head->q_head},
                    {"value", item.change.value},
                    {"se", item.change.se}});
  }
  return list;
}

}  // namespace

Json compare_checkpoints(const CheckpointAnalysis& from, const CheckpointAnalysis& to) {
  const auto everyone = [](const HeadAnalysis&) { return true; };
  const HeadGroup before = make_group(from, everyone);
  const HeadGroup after = make_group(to, everyone);
  const bool paired = !from.documents.empty() && from.documents == to.documents &&
                      from.blocks == to.blocks && before.without.size() == after.without.size();
  const double df = static_cast<double>(std::min(before.without.size(), after.without.size())) - 1;
  Json json{{"from", from.label}, {"to", to.label}, {"paired", paired ? 1 : 0}};
  json["few_blocks"] = df + 1 < kFewBlocks;
  for (const auto& [name, statistic] : smooth_statistics()) {
    json[name] = leaf(subtract(estimate(before, statistic), estimate(after, statistic),
                               after.block_sizes, paired, df));
  }
  json["taxonomy"] = class_changes(before, after, paired, df);
  json["heads_r_q"] = head_changes(from, to, &HeadComponents::r_q, paired, df);
  json["heads_r_k"] = head_changes(from, to, &HeadComponents::r_k, paired, df);
  return json;
}

}  // namespace ropewalk
