#include "ropewalk/figures/parts/checkpoint_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/checkpoint_positions.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kLongestLabel = 140;  // pixels
constexpr double kSlantedPitch = 22;   // fewest pixels from one slanted label to the next
constexpr double kLeastPitch = 9;      // pixels between full-size markers
constexpr double kLeastBarPitch = 6;   // pixels between bars with gaps
constexpr double kLineHeight = theme::kPhaseSize + 3;
constexpr double kHeaderGap = 8;  // between the plot and the names of phases

// The properties on which the order of a run depends.
std::vector<CheckpointTable> entries(const std::vector<Slot>& slots, bool models) {
  std::vector<CheckpointTable> list(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    list[i].label = slots[i].numbers->label;
    list[i].origin.context = slots[i].numbers->context;
    list[i].random = slots[i].baseline;
    list[i].independent_model = models;
  }
  return list;
}

}  // namespace

std::string checkpoint_label(const CheckpointNumbers& numbers) {
  return fit_middle(printable(numbers.label), theme::kLabelSize, kLongestLabel);
}

CheckpointAxis::CheckpointAxis(const RunNumbers& run, TimeAxis time) : time_(time) {
  const double pitch = baseline_pitch(run.baselines.size(), time_);
  double edge = -kEdge - kBaselineGap - pitch * static_cast<double>(run.baselines.size());
  for (const CheckpointNumbers& numbers : run.baselines) {
    slots_.push_back({&numbers, edge + pitch / 2, true, edge, edge + pitch});
    edge += pitch;
  }
  CheckpointPositions positions = checkpoint_positions(run, time_);
  ticks_ = std::move(positions.ticks);
  for (size_t i = 0; i < run.checkpoints.size(); ++i) {
    const CheckpointPosition& span = positions.positions[i];
    slots_.push_back({&run.checkpoints[i], span.along, false, span.from, span.to});
  }
  from_ = run.baselines.empty() ? slots_.front().along - kEdge : slots_.front().from;
  to_ = slots_.back().along + kEdge;
  const RunOrder order(entries(slots_, run.models));
  several_ = order.several();
  if (several_ && timed()) {
    throw InputError("{}: axis {}: checkpoints have several contexts; use the axis labels",
                     run.source, time_axis_name(time_));
  }
  add_spans(run);
  add_lines(order);
  add_reaches(order);
}

bool CheckpointAxis::crowded(double width) const {
  const double least = kLeastPitch * length() / width;
  return std::adjacent_find(slots_.begin(), slots_.end(), [&](const Slot& a, const Slot& b) {
           return b.along - a.along < least;
         }) != slots_.end();
}

void CheckpointAxis::add_spans(const RunNumbers& run) {
  if (!run.baselines.empty()) {
    const double end = -kEdge - kBaselineGap;
    const std::string mark = context_mark(run, run.baselines.front());
    const bool shared =
        std::all_of(run.baselines.begin(), run.baselines.end(),
                    [&](const CheckpointNumbers& one) { return context_mark(run, one) == mark; });
    spans_.push_back({"baseline", shared ? mark : "", from_, end});
    separators_.push_back(end + kBaselineGap / 2);
  }
  const bool phases = std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                                  [](const CheckpointNumbers& c) { return !c.phase.empty(); });
  const bool contexts = contexts_differ(run);
  if (!phases && !contexts) return;
  for (const Slot& slot : slots_) {
    if (slot.baseline) continue;
    const int64_t tokens = contexts ? slot.numbers->context : 0;
    const PhaseSpan span{slot.numbers->phase, tokens > 0 ? fmt::format("@{}", tokens) : "",
                         slot.from, slot.to};
    const bool first = slot.along == 0;
    if (!first && spans_.back().name == span.name && spans_.back().context == span.context) {
      spans_.back().to = slot.to;
      continue;
    }
    if (!first) separators_.push_back(slot.from);
    spans_.push_back(span);
  }
}

void CheckpointAxis::add_lines(const RunOrder& order) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].baseline) continue;
    const std::optional<size_t> from = order.step_from(i);
    const bool goes_on = from && lines_[slots_[*from].line].back() == *from;
    if (!goes_on) lines_.push_back(from ? std::vector<size_t>{*from} : std::vector<size_t>{});
    slots_[i].line = goes_on ? slots_[*from].line : lines_.size() - 1;
    lines_[slots_[i].line].push_back(i);
  }
}

void CheckpointAxis::add_reaches(const RunOrder& order) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!several_ && slots_[i].baseline) reaches_.push_back({i, slots_[i].along, to_});
    if (!several_ || slots_[i].baseline) continue;
    const double left = slots_[i].along - kEdge;
    for (const size_t baseline : order.baselines(i)) {
      const auto before = std::find_if(
          reaches_.begin(), reaches_.end(),
          [&](const BaselineReach& reach) { return reach.slot == baseline && reach.to == left; });
      if (before != reaches_.end()) {
        before->to = left + 1;
      } else {
        reaches_.push_back({baseline, left, left + 1});
      }
    }
  }
}

std::string CheckpointAxis::own_tick(const Slot& slot) const {
  if (!timed() || slot.baseline) return checkpoint_label(*slot.numbers);
  const TimedLabel label{slot.numbers->label, slot.numbers->step, slot.numbers->tokens};
  return time_text(static_cast<double>(label.at(time_)));
}

Json CheckpointAxis::params() const {
  Json positions = Json::array(), labels = Json::array();
  for (const Slot& slot : slots_) {
    if (timed() && !slot.baseline) continue;
    positions.push_back(slot.along);
    labels.push_back(checkpoint_label(*slot.numbers));
  }
  for (const auto& [position, text] : ticks_) {
    positions.push_back(position);
    labels.push_back(text);
  }
  return Json::array({Json{{"name", "places"}, {"value", positions}},
                      Json{{"name", "labels"}, {"value", labels}}});
}

Json CheckpointAxis::x_scale() const {
  // Without the padding that bars would get, so that panels above each other line up.
  return {{"domain", {from_, to_}}, {"nice", false}, {"zero", false}, {"padding", 0}};
}

Json CheckpointAxis::x_channel(double width) const {
  const double step = width / length();
  double widest = 0;
  for (const Slot& slot : slots_) {
    if (timed() && !slot.baseline) continue;
    widest = std::max(widest, text_width(checkpoint_label(*slot.numbers), theme::kLabelSize));
  }
  const bool slanted = !timed() && widest > step - 8;
  const auto every =
      slanted ? static_cast<size_t>(std::max(1.0, std::ceil(kSlantedPitch / step))) : size_t{1};
  // Counted from the last checkpoint, for which readers look first.
  Json ticks = Json::array();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (timed() ? slots_[i].baseline && widest <= step - 8
                : slots_[i].baseline || (slots_.size() - 1 - i) % every == 0) {
      ticks.push_back(slots_[i].along);
    }
  }
  for (const auto& [position, text] : ticks_) ticks.push_back(position);
  Json axis{{"title", title()},      {"values", ticks},
            {"grid", false},         {"labelExpr", "labels[indexof(places, datum.value)]"},
            {"labelOverlap", false}, {"labelFlush", false}};
  if (slanted) {
    axis["labelAngle"] = -40;
    axis["labelAlign"] = "right";
    axis["labelBaseline"] = "middle";
  } else {
    axis["labelAngle"] = 0;
  }
  return {{"field", "x"}, {"type", "quantitative"}, {"scale", x_scale()}, {"axis", axis}};
}

void CheckpointAxis::widen_bars(Json& layer, double width) const {
  if (!timed() && width / length() >= kLeastBarPitch) return;
  // Outlines of their own colour: no seams where places are narrower than a pixel.
  layer["mark"] = {{"type", "rect"}, {"strokeWidth", 1.1}};
  Json& encoding = layer["encoding"];
  encoding["stroke"] = encoding["color"];
  encoding["x"] = x_channel(width);
  encoding["x"]["field"] = "x_from";
  encoding["x2"] = {{"field", "x_to"}};
}

Json CheckpointAxis::separator_rows() const {
  Json rows = Json::array();
  for (const double position : separators_) rows.push_back({{"position", position}});
  return rows;
}

Json CheckpointAxis::phase_rows(double width) const {
  Json rows = Json::array();
  for (const PhaseSpan& span : spans_) {
    const double room = (span.to - span.from) * width / length() - 6;
    const auto lines = wrap_text(printable(span.text()), theme::kPhaseSize, room, 2);
    if (timed() && lines.size() == 1 && lines.front() == "…") continue;  // no room for a name
    for (size_t i = 0; i < lines.size(); ++i) {
      const auto above = static_cast<double>(lines.size() - 1 - i);
      rows.push_back({{"phase", span.text()},
                      {"text", lines[i]},
                      {"x", (span.from + span.to) / 2},
                      {"y", -kHeaderGap - above * kLineHeight}});
    }
  }
  return rows;
}

double CheckpointAxis::header_height(double width) const {
  double height = 0;
  for (const Json& row : phase_rows(width)) {
    height = std::max(height, kLineHeight - row["y"].get<double>());
  }
  return height;
}

void CheckpointAxis::add_phase_layers(Json& layers, Json& datasets, double width,
                                      bool names) const {
  // All layers give the same axis, so that they share it.
  Json x = x_channel(width);
  if (!separators_.empty()) {
    datasets["separators"] = separator_rows();
    x["field"] = "position";
    layers.push_back({{"name", "separators"},
                      {"data", {{"name", "separators"}}},
                      {"mark",
                       {{"type", "rule"},
                        {"strokeDash", {5, 4}},
                        {"strokeWidth", 1.2},
                        {"color", theme::kSeparator}}},
                      {"encoding", {{"x", x}}}});
  }
  if (names && !spans_.empty()) {
    datasets["phases"] = phase_rows(width);
    x["field"] = "x";
    layers.push_back({{"name", "phases"},
                      {"data", {{"name", "phases"}}},
                      {"mark",
                       {{"type", "text"},
                        {"baseline", "bottom"},
                        {"fontSize", theme::kPhaseSize},
                        {"color", theme::kMutedInk}}},
                      {"encoding",
                       {{"x", x},
                        {"y", {{"field", "y"}, {"type", "quantitative"}, {"scale", nullptr}}},
                        {"text", {{"field", "text"}, {"type", "nominal"}}}}}});
  }
}

std::string figure_title(const RunNumbers& run, std::string title) {
  constexpr std::string_view kOverTraining = " over training";
  if (!run.models || !title.ends_with(kOverTraining)) return title;
  title.resize(title.size() - kOverTraining.size());
  return title + (title.ends_with("by depth") ? " and model" : " by model");
}

size_t heads_with(const CheckpointNumbers& numbers, size_t view) {
  const std::vector<double>& heads = numbers.views.at(view).heads;
  return static_cast<size_t>(
      std::count_if(heads.begin(), heads.end(), [](double value) { return !std::isnan(value); }));
}

std::string heads_text(const RunNumbers& run, const std::vector<size_t>& views) {
  std::vector<size_t> counts;
  int64_t undefined = 0;
  for (const CheckpointNumbers& numbers : run.checkpoints) {
    if (views.empty()) counts.push_back(numbers.heads.size());
    for (const size_t view : views) {
      if (const size_t count = heads_with(numbers, view); count > 0) counts.push_back(count);
    }
    undefined += numbers.undefined;
  }
  if (counts.empty()) counts.push_back(0);
  const auto [least_at, most_at] = std::minmax_element(counts.begin(), counts.end());
  const size_t least = *least_at, most = *most_at;
  std::string text = least == most ? fmt::format("{} {}", most, most == 1 ? "head" : "heads")
                                   : fmt::format("{}–{} heads", least, most);
  if (undefined > 0) text += fmt::format(" ({} without values left out)", undefined);
  return text;
}

}  // namespace ropewalk
