#include "ropewalk/analysis/run/difference.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/run/change.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/analysis/run/loss_change.h"
#include "ropewalk/analysis/run/sign_turns.h"
#include "ropewalk/analysis/table/taxonomy.h"

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

// The view whose changes are used in place of this one's.
IndexedView carried_view(const IndexedView& view) {
  const std::string& key = view.statistic->carried;
  if (key.empty() || view.view->absolute) return view;
  const size_t index = statistic_index(key);
  const Statistic* statistic = statistics()[index];
  return {index, statistic, &statistic->views.front()};
}

// Heads whose PC0 is the same axis in both checkpoints, with that axis oriented the same way.
class MatchingAxes {
 public:
  MatchingAxes(const CheckpointTable& from, const CheckpointTable& to,
               const CheckpointComparison& comparison)
      : to_(to) {
    const auto sign = [&](const CheckpointTable& checkpoint, size_t row) {
      return comparison.axis_sign(checkpoint.layer[row], checkpoint.q_head[row]);
    };
    const std::vector<size_t> heads = to.head_rows();
    for (size_t number = 0; number < heads.size(); ++number) {
      if (sign(to, heads[number]) < 0) turn(heads[number], number, heads.size());
    }
    before_ = make_group(from, [&](size_t row) { return sign(from, row) != 0; });
    after_ = make_group(to_, [&](size_t row) { return sign(to_, row) != 0; });
  }
  MatchingAxes(const MatchingAxes&) = delete;
  MatchingAxes& operator=(const MatchingAxes&) = delete;

  const HeadGroup& before() const { return before_; }
  const HeadGroup& after() const { return after_; }

 private:
  // Applies the orientation to a value that depends on the sign of a head's axis: the value in its
  // row of PC0, and the value with index `number` among `heads`.
  void turn(size_t row, size_t number, size_t heads) {
    for (size_t index = 0; index < statistics().size(); ++index) {
      if (statistics()[index]->sign != Sign::run) continue;
      HeadColumn& column = to_.columns[index];
      column.value[row] *= -1;
      const size_t blocks = column.replicates.size() / heads;
      for (size_t b = 0; b < blocks; ++b) column.replicates[number * blocks + b] *= -1;
    }
  }

  CheckpointTable to_;
  HeadGroup before_;
  HeadGroup after_;
};

Json class_changes(const ClassShares& before, const ClassShares& after, const Pairing& pair) {
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    Change change{after.values[i] - before.values[i], std::nan(""), pair.df};
    if (!before.drawn.empty() && !after.drawn.empty()) {
      std::vector<double> drawn;
      for (size_t j = 0; j < after.drawn[i].size(); ++j) {
        drawn.push_back(after.drawn[i][j] - before.drawn[i][j]);
      }
      change.se = pair.paired ? standard_deviation(drawn) : std::hypot(before.se(i), after.se(i));
      // Where hardly any draw differs, the binomial error for that number of heads is used.
      if (before.without_spread(i) && after.without_spread(i))
        change.se = std::hypot(share_error(before, i), share_error(after, i));
    }
    classes[std::string(class_name(kHeadClasses[i]))] = leaf(change);
  }
  return classes;
}

// Heads in which a statistic changed, by decreasing effect.
Json changed_heads(const CheckpointTable& to, const std::vector<HeadChange>& heads) {
  std::vector<HeadChange> changed;
  for (const HeadChange& head : heads) {
    if (head.changed) changed.push_back(head);
  }
  std::stable_sort(changed.begin(), changed.end(), [](const HeadChange& a, const HeadChange& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  Json list = Json::array();
  for (const HeadChange& head : changed) {
    list.push_back({{"layer", to.layer[head.row]},
                    {"q_head", to.q_head[head.row]},
                    {"value", head.change.value},
                    {"se", head.change.se},
                    {"effect", std::isnan(head.effect) ? Json() : Json(head.effect)}});
  }
  return list;
}

// Heads whose PC0 became another axis.
Json changed_axes(const CheckpointTable& to, const std::vector<HeadChange>& heads) {
  Json list = Json::array();
  for (const HeadChange& head : heads) {
    if (!head.axis_changed) continue;
    list.push_back({{"layer", to.layer[head.row]}, {"q_head", to.q_head[head.row]}});
  }
  return list;
}

// The change of a mean or spread, computed in two ways: over all heads, from the numbers in the
// summary of each checkpoint; and over the heads whose PC0 is the same axis in both, with their
// signs carried. Where signs or axes flip, the two contradict each other, and neither counts as
// real.
Json compare_both_means(Change all, size_t heads, const Change& stayed, size_t staying) {
  const bool agree = all.value * stayed.value > 0;
  Json json = leaf(all);
  json["real"] = agree && all.real();
  json["heads"] = heads;
  json["stayed"] = leaf(stayed);
  json["stayed"]["real"] = agree && stayed.real();
  json["stayed"]["heads"] = staying;
  return json;
}

// What changed between two checkpoints over heads.
class HeadDifferences {
 public:
  HeadDifferences(const CheckpointComparison& comparison, const GroupNumbers& before,
                  const GroupNumbers& after)
      : before_(before),
        after_(after),
        same_(*before.group().checkpoint, *after.group().checkpoint, comparison),
        pair_(pairing(*before.group().checkpoint, *after.group().checkpoint)) {}

  // `index`: of the view in all_views().
  Json of(size_t index, const IndexedView& view, Aggregate what) const {
    const IndexedView of_run = carried_view(view);
    const bool on_axis = of_run.statistic->sign == Sign::run && !of_run.view->absolute;
    Change all = subtract(before_.of(index, what), after_.of(index, what),
                          after_.group().block_sizes, pair_);
    if (on_axis) {
      // otherwise the errors of both sides already include it
      if (pair_.paired && what == Aggregate::mean) {
        all.se =
            std::hypot(all.se, sign_error(before_.group(), view), sign_error(after_.group(), view));
      }
      const Change stayed =
          subtract(estimate(same_.before(), of_run, what), estimate(same_.after(), of_run, what),
                   same_.after().block_sizes, pair_);
      return compare_both_means(all, after_.group().rows.size(), stayed, same_.after().rows.size());
    }
    Json json = leaf(all);
    if (view.statistic->step) {
      json["real"] = Json();
      json["flag"] = kStepFunction;
    }
    if (view.statistic->sign == Sign::rule && !view.view->absolute) {
      json["real"] = Json();
      json["flag"] = "sign_rule";
    }
    return json;
  }

  Json classes() const { return class_changes(before_.classes(), after_.classes(), pair_); }
  const Pairing& pair() const { return pair_; }

 private:
  // The error that uncertain signs add.
  static double sign_error(const HeadGroup& group, const IndexedView& view) {
    return view.statistic->carried.empty() ? 0 : turning_error(group, view.index);
  }

  const GroupNumbers& before_;
  const GroupNumbers& after_;
  MatchingAxes same_;
  Pairing pair_;
};

}  // namespace

Json compare_checkpoints(const CheckpointComparison& comparison, const GroupNumbers& before,
                         const GroupNumbers& after) {
  const CheckpointTable &from = *comparison.from().front(), &to = comparison.to();
  const HeadDifferences over(comparison, before, after);
  Json json{{"from", from.label}, {"to", to.label}, {"paired", over.pair().paired ? 1 : 0}};
  json["few_blocks"] = over.pair().df + 1 < kFewBlocks;
  const std::vector<IndexedView> views = all_views();
  const auto add = [&](const std::string& key, size_t index, Aggregate what) {
    if (key.empty()) return;
    json[key] = over.of(index, views[index], what);
    if (!other_context(*views[index].statistic, from, to)) return;
    json[key]["real"] = Json();
    json[key]["flag"] = kOtherContext;
  };
  for (size_t index = 0; index < views.size(); ++index) {
    add(views[index].view->mean, index, Aggregate::mean);
    add(views[index].view->spread, index, Aggregate::spread);
  }
  if (!from.loss.empty() && !to.loss.empty()) {
    json["loss"] = leaf(loss_change(from, to));
    // the loss depends on the position, so contexts cannot be compared
    if (from.origin.context != to.origin.context) {
      json["loss"]["real"] = Json();
      json["loss"]["flag"] = kOtherContext;
    }
  }
  json["taxonomy"] = over.classes();
  for (const IndexedView& view : views) {
    if (!view.statistic->list_changes || view.view->absolute) continue;
    const IndexedView of_run = carried_view(view);
    const std::vector<HeadChange>& heads = comparison.changes(of_run);
    json["heads_" + view.statistic->key] = changed_heads(to, heads);
    if (of_run.statistic->sign == Sign::run) json["axes"] = changed_axes(to, heads);
  }
  return json;
}

}  // namespace ropewalk
