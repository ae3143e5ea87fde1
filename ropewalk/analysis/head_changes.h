#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ropewalk/analysis/change.h"
#include "ropewalk/analysis/statistic.h"

namespace ropewalk {

// A head counts as changed where its false discovery rate is at most this and the change at least
// that large: in the statistic's unit where it is at most 1, else of the larger of both values.
inline constexpr double kDiscoveryRate = 0.05;
inline constexpr double kMinChange = 0.02;

// One reading of one head in two checkpoints.
struct HeadChange {
  size_t row = 0;  // of PC0, in the later checkpoint
  Change change;
  double p = 0;
  double q = 0;  // false discovery rate among the heads of the reading
  bool changed = false;
  bool axis_changed = false;  // PC0 is another axis: a sign along it has no change, p and q are NaN
};

// A checkpoint beside an earlier one, or beside baselines of several seeds: then changes are from
// their mean, and how much seeds differ counts as error.
class Comparison {
 public:
  Comparison(std::vector<const CheckpointAnalysis*> from, const CheckpointAnalysis& to);

  const CheckpointAnalysis& to() const { return *to_; }
  const std::vector<const CheckpointAnalysis*>& from() const { return from_; }
  bool paired() const { return pairing_.paired; }

  // Of all heads that both sides have with a number.
  std::vector<HeadChange> changes(const PlacedReading& reading, double min_change) const;

 private:
  struct HeadRow {
    size_t row = 0;
    size_t number = 0;
  };
  using Heads = std::map<std::pair<int64_t, int64_t>, HeadRow>;

  static Heads heads_of(const CheckpointAnalysis& checkpoint);
  // 1 or -1: the sign that makes PC0 of the later one point the way of the earlier ones'; 0 where
  // it is another axis.
  double common_sign(const std::vector<HeadRow>& before, const HeadRow& after) const;

  std::vector<const CheckpointAnalysis*> from_;
  const CheckpointAnalysis* to_;
  std::vector<Heads> before_;
  Heads after_;
  Pairing pairing_;
};

// The readings of which changes mean something: those with an error, and not those whose sign one
// checkpoint alone decides.
std::vector<PlacedReading> comparable_readings();

}  // namespace ropewalk
