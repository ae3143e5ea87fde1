// Fractions of heads in each class over a training run.

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 340;
constexpr double kBarShare = 0.8;         // of the distance between checkpoints
constexpr double kWidestBar = 90;         // pixels
constexpr double kLabelledShare = 0.045;  // smaller segments have no room for a number
constexpr double kLabelledStep = 40;      // pixels between checkpoints that a number needs
constexpr double kErrorShift = 0.25;      // of standard-error bars to the right of the middle
constexpr size_t kPositionDominated = static_cast<size_t>(HeadClass::position_dominated);

// One row per checkpoint and class, stacked from the bottom in the order of kHeadClasses.
Json segment_rows(const CheckpointAxis& axis) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    double below = 0;
    for (size_t i = 0; i < kHeadClasses.size(); ++i) {
      const ClassShare& share = slot.numbers->classes[i];
      rows.push_back({{"checkpoint", slot.numbers->label},
                      {"phase", slot.numbers->phase},
                      {"x", slot.along},
                      {"x_from", slot.from},
                      {"x_to", slot.to},
                      {"class", class_name(kHeadClasses[i])},
                      {"fraction", theme::number(share.share)},
                      {"se", theme::number(share.se)},
                      {"heads", share.heads},
                      {"of", slot.numbers->heads.size()},
                      {"from", theme::number(std::isnan(share.share) ? share.share : below)},
                      {"to", theme::number(below + share.share)},
                      {"baseline", slot.baseline}});
      below += share.share;
    }
  }
  return rows;
}

// The share of each segment that has room for it, in per cent.
Json label_rows(const Json& segments) {
  Json rows = Json::array();
  for (const Json& segment : segments) {
    if (segment["fraction"].is_null() || segment["fraction"].get<double>() < kLabelledShare)
      continue;
    const double fraction = segment["fraction"].get<double>();
    for (const HeadClass head_class : kHeadClasses) {
      if (segment["class"] != class_name(head_class)) continue;
      rows.push_back({{"x", segment["x"]},
                      {"y", (segment["from"].get<double>() + segment["to"].get<double>()) / 2},
                      {"text", theme::decimals(100 * fraction, 0)},
                      {"ink", theme::text_color_on(theme::class_color(head_class))}});
    }
  }
  return rows;
}

// Standard errors of the lowest class, whose top edge is its share. They are drawn to the right of
// the numbers.
Json error_rows(const CheckpointAxis& axis) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    const ClassShare& share = slot.numbers->classes[kPositionDominated];
    if (std::isnan(share.se) || share.heads == 0) continue;
    rows.push_back({{"checkpoint", slot.numbers->label},
                    {"x", slot.along + (axis.timed() ? 0 : kErrorShift)},
                    {"fraction", share.share},
                    {"se", share.se},
                    {"se_low", std::max(0.0, share.share - share.se)},
                    {"se_high", std::min(1.0, share.share + share.se)}});
  }
  return rows;
}

Json y_channel(const char* field) {
  return {{"field", field},
          {"type", "quantitative"},
          {"stack", nullptr},
          {"scale", {{"domain", {0, 1}}, {"nice", false}}},
          {"axis",
           {{"title", "fraction of heads"},
            {"values", {0, 0.2, 0.4, 0.6, 0.8, 1}},
            {"format", ".1f"},
            {"grid", false},
            {"domain", false},
            {"tickSize", 4}}}};
}

Json class_color_channel(double legend_offset) {
  Json names = Json::array(), colors = Json::array();
  for (const HeadClass head_class : kHeadClasses) {
    names.push_back(class_name(head_class));
    colors.push_back(theme::class_color(head_class));
  }
  return {{"field", "class"},
          {"type", "nominal"},
          {"scale", {{"domain", names}, {"range", colors}}},
          {"legend",
           {{"orient", "top"},
            {"title", nullptr},
            {"symbolType", "square"},
            {"symbolStrokeWidth", 0},
            {"offset", legend_offset}}}};
}

Json segments_layer(const Json& x, double step, double legend_offset) {
  Json tooltip = Json::array();
  for (const char* field : {"checkpoint", "phase", "class", "fraction", "se", "heads", "of"}) {
    tooltip.push_back({{"field", field}});
  }
  return {{"name", "segments"},
          {"data", {{"name", "segments"}}},
          {"mark",
           {{"type", "bar"},
            {"orient", "vertical"},
            {"size", std::min(kWidestBar, kBarShare * step)},
            {"stroke", theme::kWhite},
            {"strokeWidth", step > 12 ? 1 : 0.3}}},
          {"encoding",
           {{"x", x},
            {"y", y_channel("from")},
            {"y2", {{"field", "to"}}},
            {"color", class_color_channel(legend_offset)},
            {"tooltip", tooltip}}}};
}

Json numbers_layer(const Json& x) {
  return {{"name", "numbers"},
          {"data", {{"name", "numbers"}}},
          {"mark", {{"type", "text"}, {"baseline", "middle"}}},
          {"encoding",
           {{"x", x},
            {"y", y_channel("y")},
            {"text", {{"field", "text"}, {"type", "nominal"}}},
            {"color", {{"field", "ink"}, {"type", "nominal"}, {"scale", nullptr}}}}}};
}

void add_error_bars(Json& layers, const Json& x, double step, std::string_view color, double halo) {
  const std::string suffix = halo > 0 ? " halo" : "";
  const double thickness = 1.6 + halo;
  layers.push_back(
      {{"name", "bars" + suffix},
       {"data", {{"name", "bars"}}},
       {"mark", {{"type", "rule"}, {"strokeWidth", thickness}, {"color", color}}},
       {"encoding", {{"x", x}, {"y", y_channel("se_low")}, {"y2", {{"field", "se_high"}}}}}});
  for (const char* end : {"se_low", "se_high"}) {
    layers.push_back({{"name", std::string("caps ") + end + suffix},
                      {"data", {{"name", "bars"}}},
                      {"mark",
                       {{"type", "tick"},
                        {"orient", "horizontal"},
                        {"size", std::min(11.0, step / 5) + halo},
                        {"thickness", thickness},
                        {"opacity", 1},
                        {"color", color}}},
                      {"encoding", {{"x", x}, {"y", y_channel(end)}}}});
  }
}

std::string subtitle_of(const RunNumbers& run, bool numbered, const CheckpointAxis& axis,
                        const Json& errors) {
  std::string text = "Share of " + heads_text(run) +
                     " in each class, by r_q and |r_k| on PC0 (high > 0.7, low < 0.3)";
  text += numbered ? "; numbers are per cent." : ".";
  if (!errors.empty()) {
    text += " Bars: ±1 standard error of the position-dominated share";
    text += errors.size() < axis.slots().size()
                ? "; none where resampling the documents hardly changes it."
                : ".";
  }
  if (!run.baselines.empty()) text += " Baseline: freshly initialised weights.";
  return text + notes_on_pc0(run);
}

}  // namespace

Json taxonomy(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run, options.time());
  const double width = theme::kPlotWidth;
  const double step = width / axis.length();
  const bool numbered = !axis.timed() && step >= kLabelledStep;
  // On an axis of time with many checkpoints, error bars would hide the shares.
  const Json errors = axis.crowded(width) ? Json::array() : error_rows(axis);
  Json spec =
      theme::begin_figure(options.title, figure_title(run, "Classes of heads over training"),
                          subtitle_of(run, numbered, axis, errors), width);
  spec["params"] = axis.params();
  spec["width"] = width;
  spec["height"] = kHeight;
  const Json x = axis.x_channel(width);
  const Json segments = segment_rows(axis);
  Json layers = Json::array();
  Json& datasets = spec["datasets"];
  datasets["segments"] = segments;
  layers.push_back(segments_layer(x, step, axis.header_height(width) + 8));
  axis.widen_bars(layers.back(), width);
  if (numbered) {
    datasets["numbers"] = label_rows(segments);
    layers.push_back(numbers_layer(x));
  }
  if (!errors.empty()) {
    datasets["bars"] = errors;
    // First in white and wider, because the bars lie on dark and on light colours.
    add_error_bars(layers, x, step, theme::kWhite, 2.2);
    add_error_bars(layers, x, step, theme::kInk, 0);
  }
  axis.add_phase_layers(layers, datasets, width);
  spec["layer"] = layers;
  return spec;
}

}  // namespace ropewalk
