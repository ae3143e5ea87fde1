#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/change.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// A head counts as changed where its false discovery rate is at most this, and its change on the
// statistic's scale is at least the given share of the spread over heads and at least the scale's
// floor (ChangeScale).
inline constexpr double kDiscoveryRate = 0.05;
inline constexpr double kMinChange = 0.5;

// Whether the two contexts differ and the number is per token or of rows of attention: it then
// changes with its unit or with the context alone, which is not a finding.
bool other_context(const Statistic& statistic, const CheckpointTable& from,
                   const CheckpointTable& to);
inline constexpr const char* kOtherContext = "other_context";
inline constexpr const char* kStepFunction = "step_function";

// One view of one head in two checkpoints.
struct HeadChange {
  size_t row = 0;  // row of PC0 in the later checkpoint
  double before = 0;
  double after = 0;
  Change change;
  // The change on the statistic's scale and its standard error, divided by the spread over heads on
  // this scale: the mean of robust_spread() before and after. NaN where heads do not differ.
  double effect = 0;
  double effect_se = 0;
  double p = 0;
  double q = 0;  // false discovery rate among the heads of this view
  bool changed = false;
  // Such changes have no p and q: PC0 is another axis, so that numbers along it cannot be compared;
  // other_context(); or a step function, which never counts as changed.
  bool axis_changed = false;
  bool other_context = false;
  bool step_function = false;

  const char* flag() const;  // the flag in changes.csv
};

// A checkpoint compared with an earlier one, or with baselines of several seeds: then changes are
// from their mean, and the spread over seeds adds to the error. To be used by one thread.
class CheckpointComparison {
 public:
  // `min_change`: a share of the spread over heads.
  CheckpointComparison(std::vector<const CheckpointTable*> from, const CheckpointTable& to,
                       double min_change = kMinChange);

  const CheckpointTable& to() const { return *to_; }
  const std::vector<const CheckpointTable*>& from() const { return from_; }
  bool paired() const { return pairing_.paired; }

  // The sign, 1 or -1, that orients a head's PC0 in `to` like the PC0 of the earlier checkpoints; 0
  // where it is another axis, or where these lack the head.
  double axis_sign(int64_t layer, int64_t q_head) const;

  // The changes of all heads that have the number on both sides. Computed once, and kept.
  const std::vector<HeadChange>& changes(const IndexedView& view) const;

 private:
  struct HeadRow {
    size_t row = 0;
    size_t number = 0;
  };
  using Heads = std::map<std::pair<int64_t, int64_t>, HeadRow>;

  // A head's rows in the earlier checkpoints; empty where one of them lacks it.
  std::vector<HeadRow> rows_before(const Heads::key_type& head) const;
  static Heads heads_of(const CheckpointTable& checkpoint);
  // The sign, 1 or -1, that orients the later PC0 like the earlier ones; 0 where it is another
  // axis.
  double common_sign(const std::vector<HeadRow>& before, const HeadRow& after) const;
  std::vector<HeadChange> find_changes(const IndexedView& view) const;
  // The change from the mean of a head's earlier numbers, one per checkpoint, to its later one.
  Change change_of(const std::vector<Estimate>& before, const Estimate& after,
                   const HeadRow& row) const;

  std::vector<const CheckpointTable*> from_;
  const CheckpointTable* to_;
  std::vector<Heads> before_;
  Heads after_;
  Pairing pairing_;
  double min_change_;
  mutable std::map<const StatisticView*, std::vector<HeadChange>> changes_;
};

// The views whose changes mean something: those that have an error, except where the sign is
// decided by one checkpoint alone.
std::vector<IndexedView> comparable_views();

}  // namespace ropewalk
