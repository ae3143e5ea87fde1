#include "ropewalk/analysis/ablation/chosen_set.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/run/head_group.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr size_t kSetResamples = 200;
using Chosen = std::vector<QueryHead>;  // sorted

template <typename... Args>
[[noreturn]] void refuse(const SetName& name, fmt::format_string<Args...> why, Args&&... args) {
  throw UsageError(Field{"heads"}, " '{}': {}", name.text,
                   fmt::format(why, std::forward<Args>(args)...));
}

QueryHead head_at(const CheckpointTable& checkpoint, size_t row) {
  return {static_cast<int32_t>(checkpoint.layer[row]),
          static_cast<int32_t>(checkpoint.q_head[row])};
}

// One number per head: its value, and its values under resampled documents. Without replicates
// every resample has the same value.
class ResampledNumber {
 public:
  ResampledNumber(const CheckpointTable& checkpoint, size_t statistic, bool absolute)
      : absolute_(absolute) {
    const std::vector<size_t> rows = checkpoint.head_rows();
    std::optional<Resamples> resamples;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Estimate one = head_estimate(checkpoint, statistic, rows[i], i);
      values_.push_back(one.value);
      drawn_.emplace_back();
      const bool known = one.replicates.size() > 1 &&
                         std::none_of(one.replicates.begin(), one.replicates.end(),
                                      [](double replicate) { return std::isnan(replicate); });
      if (!known || std::isnan(one.value)) continue;
      if (!resamples) resamples.emplace(one.replicates.size());
      drawn_.back() = resamples->of(one.value, one.replicates);
      resampled_ = true;
    }
  }

  double value(size_t head) const { return size_of(values_[head]); }
  double drawn(size_t head, size_t draw) const {
    return drawn_[head].empty() ? value(head) : size_of(drawn_[head][draw]);
  }
  bool resampled() const { return resampled_; }

 private:
  double size_of(double value) const { return absolute_ ? std::abs(value) : value; }

  bool absolute_;
  bool resampled_ = false;
  std::vector<double> values_;
  std::vector<std::vector<double>> drawn_;  // [heads][draws]; empty: the spread is unknown
};

// The first `count` units, ordered by the largest number among the heads of each unit.
Chosen ranked(const SetName& name, const HeadUnits& units, size_t count,
              const std::map<QueryHead, double>& numbers) {
  std::vector<std::pair<double, QueryHead>> order;
  for (const auto& [unit, members] : units.members) {
    double largest = numbers.at(members.front());
    for (const QueryHead& head : members) largest = std::max(largest, numbers.at(head));
    order.emplace_back(name.kind == SetName::Kind::top ? -largest : largest, unit);
  }
  std::sort(order.begin(), order.end());
  Chosen chosen;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) chosen.push_back(order[i].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

double jaccard(const Chosen& a, const Chosen& b) {
  Chosen both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  const auto common = static_cast<double>(both.size());
  const auto either = static_cast<double>(a.size() + b.size()) - common;
  return either > 0 ? common / either : 1;
}

// Subtracts the overlap that random sets of k units out of N have on average.
void set_overlap(ChosenSet& set, double sum) {
  const auto k = static_cast<double>(set.units.size());
  set.overlap = sum / kSetResamples;
  set.chance = k / (2 * static_cast<double>(set.among) - k);
}

void choose_ranked(ChosenSet& set, const CheckpointTable& checkpoint, int64_t group) {
  const SetName& name = set.name;
  const std::vector<IndexedView> views = all_views();
  const auto view = std::find_if(views.begin(), views.end(),
                                 [&](const auto& one) { return one.view->key == name.column; });
  const bool absolute = view != views.end() && view->view->absolute;
  const size_t statistic = view != views.end() ? view->index : statistic_index(name.column);
  const ResampledNumber numbers(checkpoint, statistic, absolute);
  const std::vector<size_t> rows = checkpoint.head_rows();
  std::vector<QueryHead> known;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(numbers.value(i))) continue;
    known.push_back(head_at(checkpoint, rows[i]));
    indexes.push_back(i);
  }
  const HeadUnits units = units_of(known, name.by_kv, group);
  set.among = static_cast<int64_t>(units.members.size());
  if (units.members.empty()) {
    refuse(name, "has no head: {} has a number '{}'; was it measured?",
           name.by_kv ? "no KV head of the capture, with all of its query heads,"
                      : "no head of the capture",
           name.column);
  }
  const auto count = static_cast<size_t>(
      std::max(1.0, std::floor(name.share * static_cast<double>(set.among) + 0.5)));
  std::map<QueryHead, double> values;
  const auto choose = [&](const auto& number_of) {
    for (size_t i = 0; i < known.size(); ++i) values[known[i]] = number_of(indexes[i]);
    return ranked(name, units, count, values);
  };
  set.units = choose([&](size_t head) { return numbers.value(head); });
  set.heads = units.heads_of(set.units);
  if (!numbers.resampled()) return;
  double sum = 0;
  for (size_t draw = 0; draw < kSetResamples; ++draw) {
    sum += jaccard(set.units, choose([&](size_t head) { return numbers.drawn(head, draw); }));
  }
  set_overlap(set, sum);
}

void choose_class(ChosenSet& set, const CheckpointTable& checkpoint) {
  const ResampledNumber r_q(checkpoint, statistic_index("r_q"), false);
  const ResampledNumber r_k(checkpoint, statistic_index("r_k"), false);
  const std::vector<size_t> rows = checkpoint.head_rows();
  const auto choose = [&](const auto& number_of) {
    Chosen chosen;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double q = number_of(r_q, i), k = number_of(r_k, i);
      if (std::isnan(q) || std::isnan(k) || classify(q, k) != set.name.head_class) continue;
      chosen.push_back(head_at(checkpoint, rows[i]));
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  };
  for (const size_t row : rows) set.among += class_of(checkpoint, row).has_value();
  set.units = choose([](const ResampledNumber& r, size_t head) { return r.value(head); });
  if (set.units.empty()) {
    refuse(set.name, "has no head: none of the capture's {} heads is {}", rows.size(),
           class_name(set.name.head_class));
  }
  if (!r_q.resampled()) return;
  double sum = 0;
  for (size_t draw = 0; draw < kSetResamples; ++draw) {
    sum += jaccard(set.units, choose([draw](const ResampledNumber& r, size_t head) {
                     return r.drawn(head, draw);
                   }));
  }
  set_overlap(set, sum);
}

void choose_listed(ChosenSet& set, const std::vector<QueryHead>& heads) {
  const SetName& name = set.name;
  set.among = static_cast<int64_t>(heads.size());
  const std::set<QueryHead> there(heads.begin(), heads.end());
  int32_t layers = 0, last = 0;
  for (const QueryHead& head : heads) {
    layers = std::max(layers, head.layer);
    last = std::max(last, head.q_head);
    if (name.kind == SetName::Kind::layer && head.layer == name.layer) set.units.push_back(head);
  }
  for (const QueryHead& head : name.heads) {
    if (!there.contains(head)) {
      refuse(name, "the capture has no head {}.{}; its layers go up to {}, its query heads to {}",
             head.layer, head.q_head, layers, last);
    }
    set.units.push_back(head);
  }
  if (set.units.empty()) {
    refuse(name, "the capture has no head of layer {}; its layers go up to {}", name.layer, layers);
  }
  std::sort(set.units.begin(), set.units.end());
}

}  // namespace

std::vector<QueryHead> heads_of(const CheckpointTable& checkpoint) {
  std::vector<QueryHead> heads;
  for (const size_t row : checkpoint.head_rows()) heads.push_back(head_at(checkpoint, row));
  std::sort(heads.begin(), heads.end());
  return heads;
}

ChosenSet choose_set(const SetName& name, const CheckpointTable& checkpoint) {
  ChosenSet set;
  set.name = name;
  const std::vector<QueryHead> heads = heads_of(checkpoint);
  const int64_t group = checkpoint.origin.n_q_heads / checkpoint.origin.n_kv_heads;
  switch (name.kind) {
    case SetName::Kind::top:
    case SetName::Kind::bottom:
      choose_ranked(set, checkpoint, group);
      return set;
    case SetName::Kind::of_class:
      choose_class(set, checkpoint);
      break;
    case SetName::Kind::layer:
    case SetName::Kind::list:
      choose_listed(set, heads);
  }
  set.heads = units_of(heads, /*by_kv=*/false, group).heads_of(set.units);
  return set;
}

}  // namespace ropewalk
