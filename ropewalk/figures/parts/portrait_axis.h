#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/reading_look.h"

namespace ropewalk {

// An axis of phase portraits: a reading of every head, with the same limits in all panels.
class PortraitAxis {
 public:
  // `reading`: its place in all_readings().
  PortraitAxis(const std::vector<const CheckpointNumbers*>& panels, size_t reading);

  const std::string& key() const { return placed_.reading->key; }  // also the field of the data
  std::string title() const { return reading_title(placed_); }
  // Without what follows a comma, to stand within a sentence.
  std::string short_title() const { return title().substr(0, title().find(',')); }
  std::string sentence() const { return reading_sentence(placed_); }
  // Of one head, by its place in CheckpointNumbers::heads.
  double value(const CheckpointNumbers& numbers, size_t head) const;
  // Whether a number lies within the limits.
  bool holds(double value) const { return value >= low_ && value <= high_; }
  // Of the classes: what r_q and r_k have.
  const std::vector<double>& thresholds() const { return thresholds_; }

  // A channel without its field, `length` pixels long; labels and title where `shown`.
  Json channel(bool shown, double length) const;

 private:
  size_t place_;
  PlacedReading placed_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> thresholds_;
};

}  // namespace ropewalk
