#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/change.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// A head counts as changed where its false discovery rate is at most this, and the change, on the
// statistic's scale, at least that share of the spread over heads and the scale's floor
// (ChangeScale).
inline constexpr double kDiscoveryRate = 0.05;
inline constexpr double kMinChange = 0.5;

// Whether a number per token, or of rows of attention, is of two contexts: its change is that of
// the unit or of the context, and no finding.
bool other_context(const Statistic& statistic, const CheckpointTable& from,
                   const CheckpointTable& to);
inline constexpr const char* kOtherContext = "other_context";
inline constexpr const char* kStepFunction = "step_function";

// One reading of one head in two checkpoints.
struct HeadChange {
  size_t row = 0;  // of PC0, in the later checkpoint
  double before = 0;
  double after = 0;
  Change change;
  // The change on the statistic's scale and its standard error, over the spread of heads there: the
  // mean of robust_spread() before and after. NaN where heads do not differ.
  double effect = 0;
  double effect_se = 0;
  double p = 0;
  double q = 0;  // false discovery rate among the heads of the reading
  bool changed = false;
  // These have no p and q: PC0 is another axis, so that a sign along it has no change;
  // other_context(); or a step function, which never counts as changed.
  bool axis_changed = false;
  bool other_context = false;
  bool step_function = false;

  const char* flag() const;  // of changes.csv
};

// A checkpoint beside an earlier one, or beside baselines of several seeds: then changes are from
// their mean, and how much seeds differ counts as error. Of one thread.
class CheckpointComparison {
 public:
  // `min_change`: a share of the spread over heads.
  CheckpointComparison(std::vector<const CheckpointTable*> from, const CheckpointTable& to,
                       double min_change = kMinChange);

  const CheckpointTable& to() const { return *to_; }
  const std::vector<const CheckpointTable*>& from() const { return from_; }
  bool paired() const { return pairing_.paired; }

  // Of a head of `to`: 1 or -1, which makes its PC0 point the way of the earlier ones'; 0 where it
  // is another axis, or the earlier ones do not have the head.
  double axis_sign(int64_t layer, int64_t q_head) const;

  // Of all heads that both sides have with a number. Computed once, and kept.
  const std::vector<HeadChange>& changes(const IndexedView& view) const;

 private:
  struct HeadRow {
    size_t row = 0;
    size_t number = 0;
  };
  using Heads = std::map<std::pair<int64_t, int64_t>, HeadRow>;

  // A head's rows in the earlier checkpoints; none where one of them lacks it.
  std::vector<HeadRow> rows_before(const Heads::key_type& head) const;
  static Heads heads_of(const CheckpointTable& checkpoint);
  // 1 or -1: the sign that makes PC0 of the later one point the way of the earlier ones'; 0 where
  // it is another axis.
  double common_sign(const std::vector<HeadRow>& before, const HeadRow& after) const;
  std::vector<HeadChange> find_changes(const IndexedView& view) const;
  // From the mean of a head's earlier numbers, one per checkpoint, to its later one.
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

// The readings of which changes mean something: those with an error, and not those whose sign one
// checkpoint alone decides.
std::vector<IndexedView> comparable_views();

}  // namespace ropewalk
