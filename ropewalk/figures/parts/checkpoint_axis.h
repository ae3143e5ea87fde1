#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

// Where a checkpoint stands along the run: 0, 1, … for the run itself, or where its time is
// (time_axis.h), and half a step apart from it, on the negative side, for baselines.
struct Slot {
  const CheckpointNumbers* numbers = nullptr;
  double along = 0;
  bool baseline = false;
  double from = 0, to = 0;  // the edges of its place, where the next ones begin
  size_t line = 0;          // of the run: its place in CheckpointAxis::lines()
};

// Consecutive checkpoints of one phase, and of one context where these differ, by the outer edges
// of their places.
struct PhaseSpan {
  std::string name;     // "baseline" for baselines
  std::string context;  // "@512"; empty: all have the same, or none is known
  double from = 0;
  double to = 0;

  std::string text() const { return name + (name.empty() || context.empty() ? "" : " ") + context; }
};

// Where a baseline is drawn as a dotted line: beside the checkpoints that it is held against.
struct BaselineReach {
  size_t slot = 0;
  double from = 0;
  double to = 0;
};

// The axis along which figures lay out checkpoints. Positions are numbers rather than categories,
// so that separators and phase names have places between them.
class CheckpointAxis {
 public:
  // Throws InputError where a run cannot be laid out by `time`.
  explicit CheckpointAxis(const RunNumbers& run, TimeAxis time = TimeAxis::labels);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<PhaseSpan>& spans() const { return spans_; }
  double from() const { return from_; }
  double to() const { return to_; }
  double length() const { return to_ - from_; }
  // Slots that a line joins: the steps of changes.csv (analysis/run/run_order.h). A run has one
  // line, or one for each context. Where two steps lead from one checkpoint, a line begins with a
  // slot of another.
  const std::vector<std::vector<size_t>>& lines() const { return lines_; }
  // Whether places are times: places then have widths of their own.
  bool timed() const { return time_ != TimeAxis::labels; }
  // Of times: round ones, where they stand and their texts.
  const std::vector<std::pair<double, std::string>>& ticks() const { return ticks_; }
  // How a place's own tick reads: its label or, on an axis of time, when it was.
  std::string own_tick(const Slot& slot) const;
  // Of the axis; null: labels need none.
  Json title() const { return timed() ? Json(time_title(time_)) : Json(); }
  // Whether some checkpoints are too close to each other for markers of full size.
  bool crowded(double width) const;
  // Whether a checkpoint has several contexts.
  bool several_contexts() const { return several_; }
  // Across the run; with several contexts, beside the checkpoints of its own.
  const std::vector<BaselineReach>& baseline_reaches() const { return reaches_; }

  // Parameters that the axis's labels are looked up in; belongs at the top of a specification.
  Json params() const;
  // An x channel of places with the labels of checkpoints, for a plot `width` pixels wide.
  Json x_channel(double width) const;
  // On an axis of time, and where bars with gaps would be too narrow: makes a layer of bars fill
  // the places of checkpoints, whose rows have edges `x_from` and `x_to`.
  void widen_bars(Json& layer, double width) const;
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
  void add_spans(const RunNumbers& run);
  void add_lines(const RunOrder& order);
  void add_reaches(const RunOrder& order);

  TimeAxis time_;
  std::vector<std::pair<double, std::string>> ticks_;  // of times
  std::vector<Slot> slots_;
  std::vector<std::vector<size_t>> lines_;
  std::vector<BaselineReach> reaches_;
  bool several_ = false;
  std::vector<PhaseSpan> spans_;
  std::vector<double> separators_;
  double from_ = 0;
  double to_ = 0;
};

// A checkpoint's label as figures show it: printable, and not longer than there is room for.
std::string checkpoint_label(const CheckpointNumbers& numbers);

// A title as figures of this run have it: that of "… over training" speaks of models where these
// stand side by side.
std::string figure_title(const RunNumbers& run, std::string title);

// How many heads of a checkpoint have a reading (a place in all_views()).
size_t heads_with(const CheckpointNumbers& numbers, size_t view);

// The heads behind a figure, in words: "300 heads", "295–300 heads", with those left out. Of
// readings, the heads that have them, at the checkpoints that have any.
std::string heads_text(const RunNumbers& run, const std::vector<size_t>& views = {});

}  // namespace ropewalk
