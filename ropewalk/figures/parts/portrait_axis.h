#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {

// An axis of phase portraits: a view of every head, with the same limits in all panels.
class PortraitAxis {
 public:
  // `view` is its index in all_views().
  PortraitAxis(const std::vector<const CheckpointNumbers*>& panels, size_t view);

  // also the name of the field in the data
  const std::string& key() const { return indexed_.view->key; }
  std::string title() const { return view_title(indexed_); }
  // The title up to the first comma, for use within a sentence.
  std::string short_title() const { return title().substr(0, title().find(',')); }
  std::string sentence() const { return view_sentence(indexed_); }
  // The value of one head, given by its index in CheckpointNumbers::heads.
  double value(const CheckpointNumbers& numbers, size_t head) const;
  // Whether a number is inside the limits.
  bool holds(double value) const { return value >= low_ && value <= high_; }
  // The thresholds of the classes; only r_q and r_k have some.
  const std::vector<double>& thresholds() const { return thresholds_; }

  // A channel without its field, `length` pixels long; `shown`: with labels and title.
  Json channel(bool shown, double length) const;

 private:
  size_t index_;
  IndexedView indexed_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> thresholds_;
};

}  // namespace ropewalk
