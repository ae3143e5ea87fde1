#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run_numbers.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// Where a checkpoint stands along the run: 0, 1, … for the run itself, and half a step apart from
// it, on the negative side, for baselines.
struct Slot {
  const CheckpointNumbers* numbers = nullptr;
  double along = 0;
  bool baseline = false;
  int segment = 0;  // of the run: another begins where the context changes (context_label.h)
};

// Consecutive checkpoints of one phase and context, by the outer edges of their places.
struct PhaseSpan {
  std::string name;  // "baseline" for baselines
  double from = 0;
  double to = 0;
};

// The axis along which figures lay out checkpoints. Positions are numbers rather than categories,
// so that separators and phase names have places between them.
class CheckpointAxis {
 public:
  explicit CheckpointAxis(const RunNumbers& run);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<PhaseSpan>& spans() const { return spans_; }
  double from() const { return from_; }
  double to() const { return to_; }
  double length() const { return to_ - from_; }
  // Lines are drawn within segments.
  bool segmented() const { return slots_.back().segment > 0; }
  size_t longest_segment() const;

  // Parameters that the axis's labels are looked up in; belongs at the top of a specification.
  Json params() const;
  // An x channel of places with the labels of checkpoints, for a plot `width` pixels wide.
  Json x_channel(double width) const;
  // The same scale without an axis.
  Json x_scale() const;
  // Adds dashed lines between phases and, unless a plot above has them, the phases' names.
  void add_phase_layers(Json& layers, Json& datasets, double width, bool names = true) const;
  // Where phases meet: [{"position": …}, …].
  Json separator_rows() const;
  // How far the phases' names reach above the plot, in pixels.
  double header_height(double width) const;

 private:
  Json phase_rows(double width) const;

  std::vector<Slot> slots_;
  std::vector<PhaseSpan> spans_;
  std::vector<double> separators_;
  double from_ = 0;
  double to_ = 0;
};

// A checkpoint's label as figures show it: printable, and not longer than there is room for.
std::string checkpoint_label(const CheckpointNumbers& numbers);

// The heads behind a figure, in words: "300 heads", "295–300 heads", with those left out.
std::string heads_text(const RunNumbers& run);

}  // namespace ropewalk
