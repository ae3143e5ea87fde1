#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

// The position of a checkpoint along the run: 0, 1, … by labels, or by time (time_axis.h).
// Baselines are at negative positions, half a step away from the run.
struct Slot {
  const CheckpointNumbers* numbers = nullptr;
  double along = 0;
  bool baseline = false;
  double from = 0, to = 0;  // the edges of its slot, where the next slots begin
  size_t line = 0;          // in the run: the index in CheckpointAxis::lines()
};

// Consecutive checkpoints of one phase, and of one context where these differ, given by the outer
// edges of their slots.
struct PhaseSpan {
  std::string name;     // "baseline" for baselines
  std::string context;  // "@512"; empty: contexts are equal or unknown
  double from = 0;
  double to = 0;

  std::string text() const { return name + (name.empty() || context.empty() ? "" : " ") + context; }
};

// The range over which a baseline is drawn as a dotted line: along the checkpoints with which it is
// compared.
struct BaselineReach {
  size_t slot = 0;
  double from = 0;
  double to = 0;
};

// The x axis on which figures arrange checkpoints. Positions are numbers rather than categories, so
// that separators and phase names can be placed between them.
class CheckpointAxis {
 public:
  // Throws InputError where a run cannot be arranged by `time`.
  explicit CheckpointAxis(const RunNumbers& run, TimeAxis time = TimeAxis::labels);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<PhaseSpan>& spans() const { return spans_; }
  double from() const { return from_; }
  double to() const { return to_; }
  double length() const { return to_ - from_; }
  // Slots that are joined by a line: the steps of changes.csv (analysis/run/run_order.h). A run has
  // one line, or one per context. Where two steps lead from one checkpoint, a line begins with a
  // slot of another line.
  const std::vector<std::vector<size_t>>& lines() const { return lines_; }
  // Whether positions are times; slots then differ in width.
  bool timed() const { return time_ != TimeAxis::labels; }
  // On an axis of time: round numbers, as positions and texts.
  const std::vector<std::pair<double, std::string>>& ticks() const { return ticks_; }
  // The text of a slot's own tick: its label, or on an axis of time its time.
  std::string own_tick(const Slot& slot) const;
  // The title of the axis; null: labels need none.
  Json title() const { return timed() ? Json(time_title(time_)) : Json(); }
  // Whether some checkpoints are too close to each other for full-size markers.
  bool crowded(double width) const;
  // Whether any checkpoint has several contexts.
  bool several_contexts() const { return several_; }
  // Across the whole run; with several contexts, along the checkpoints of the same context.
  const std::vector<BaselineReach>& baseline_reaches() const { return reaches_; }

  // Parameters that hold the texts of the axis's labels; they belong at the top level of a
  // specification.
  Json params() const;
  // An x channel with the checkpoints' labels, for a plot `width` pixels wide.
  Json x_channel(double width) const;
  // On an axis of time, and where bars with gaps would be too narrow: makes a layer of bars fill
  // the checkpoints' slots, whose rows have the edges `x_from` and `x_to`.
  void widen_bars(Json& layer, double width) const;
  // The scale of this axis, without the axis.
  Json x_scale() const;
  // Adds dashed lines between phases and, unless a plot above shows them, the names of phases.
  void add_phase_layers(Json& layers, Json& datasets, double width, bool names = true) const;
  // The positions between phases: [{"position": …}, …].
  Json separator_rows() const;
  // The height of the phase names above the plot, in pixels.
  double header_height(double width) const;

 private:
  Json phase_rows(double width) const;
  void add_spans(const RunNumbers& run);
  void add_lines(const RunOrder& order);
  void add_reaches(const RunOrder& order);

  TimeAxis time_;
  std::vector<std::pair<double, std::string>> ticks_;  // on an axis of time
  std::vector<Slot> slots_;
  std::vector<std::vector<size_t>> lines_;
  std::vector<BaselineReach> reaches_;
  bool several_ = false;
  std::vector<PhaseSpan> spans_;
  std::vector<double> separators_;
  double from_ = 0;
  double to_ = 0;
};

// A checkpoint's label in figures: printable, and shortened to the available room.
std::string checkpoint_label(const CheckpointNumbers& numbers);

// The title of a figure for this run: "… over training" becomes a title about models where the run
// compares models.
std::string figure_title(const RunNumbers& run, std::string title);

// The number of heads of a checkpoint that have a view (given by its index in all_views()).
size_t heads_with(const CheckpointNumbers& numbers, size_t view);

// The number of heads behind a figure, in words: "300 heads", "295–300 heads", with those left out.
// With `views`, the heads that have these, at the checkpoints that have any.
std::string heads_text(const RunNumbers& run, const std::vector<size_t>& views = {});

}  // namespace ropewalk
