// Scatter plots of two numbers of every head, at a few checkpoints.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"
#include "ropewalk/figures/parts/portrait_axis.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr size_t kPortraits = 6;
constexpr int kFlush = 8;       // pixels from the end of an axis
constexpr size_t kModels = 15;  // how many models fit side by side
constexpr size_t kColumns = 3;
constexpr double kPanel = 206;  // pixels, width and height
constexpr double kGap = 22;
constexpr double kPointSize = 30;

std::string known_labels(const RunNumbers& run) {
  std::string text;
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      text += (text.empty() ? "" : ", ") + numbers.label;
    }
  }
  return printable_excerpt(text, 400);
}

const CheckpointNumbers& find_checkpoint(const RunNumbers& run, const std::string& label) {
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (numbers.label == label) return numbers;
    }
  }
  throw UsageError("portrait '{}': {} does not have this checkpoint; it has {}", printable(label),
                   run.source, known_labels(run));
}

// The heads in a panel that have both numbers, and how many are outside the limits or lack a
// number.
struct PanelHeads {
  Json rows = Json::array();
  int64_t outside = 0;
  int64_t missing = 0;
};

PanelHeads panel_heads(const CheckpointNumbers& numbers, const PortraitAxis& x,
                       const PortraitAxis& y) {
  PanelHeads heads;
  for (size_t i = 0; i < numbers.heads.size(); ++i) {
    const HeadPoint& head = numbers.heads[i];
    const double across = x.value(numbers, i), up = y.value(numbers, i);
    if (std::isnan(across) || std::isnan(up)) {
      ++heads.missing;
      continue;
    }
    Json row{{"layer", head.layer},
             {"q_head", head.q_head},
             {x.key(), across},
             {y.key(), up},
             {"class", class_name(head.head_class)}};
    if (head.rope) row["position"] = *head.rope ? "RoPE" : "NoPE";
    if (!x.holds(across) || !y.holds(up)) {
      ++heads.outside;
      row["outside"] = true;
    }
    heads.rows.push_back(std::move(row));
  }
  return heads;
}

class PortraitPanels {
 public:
  PortraitPanels(const RunNumbers& run, std::vector<const CheckpointNumbers*> chosen,
                 const PortraitAxis& across, const PortraitAxis& up, bool nope)
      : run_(run), chosen_(std::move(chosen)), across_(across), up_(up), nope_(nope) {}

  // The panel's data are added to `datasets`.
  Json panel(size_t index, Json& datasets) const {
    const CheckpointNumbers& numbers = *chosen_[index];
    PanelHeads heads = panel_heads(numbers, across_, up_);
    const size_t columns = std::min(kColumns, chosen_.size());
    const bool left = index % columns == 0, bottom = index + columns >= chosen_.size();
    const Json x = across_.channel(bottom, kPanel);
    Json y = up_.channel(left, kPanel);
    // A label at the very top would move the title of its panel out of line with its neighbours.
    if (up_.thresholds().empty()) y["axis"]["labelFlush"] = kFlush;
    Json layers = Json::array();
    if (!across_.thresholds().empty()) layers.push_back(thresholds(across_, "x", x));
    if (!up_.thresholds().empty()) layers.push_back(thresholds(up_, "y", y));
    layers.push_back(points(index, x, y));
    Json view{{"name", fmt::format("panel_{}", index)},
              {"title",
               {{"text", theme::title(fit_text(printable(numbers.label), 15 * 1.08, kPanel))},
                {"subtitle", fit_text(description(numbers, heads), 13, kPanel)},
                {"fontSize", 15},
                {"subtitleFontSize", 13},
                {"subtitlePadding", 3},
                {"offset", 6}}},
              {"width", kPanel},
              {"height", kPanel},
              {"view", {{"stroke", theme::kSeparator}}},
              {"layer", layers}};
    datasets[fmt::format("heads {}", index)] = std::move(heads.rows);
    return view;
  }

 private:
  std::string description(const CheckpointNumbers& numbers, const PanelHeads& heads) const {
    std::string text = printable(phase_with_context(run_, numbers));
    if (!text.empty()) text += ", ";
    text += fmt::format("n = {}", heads.rows.size());
    if (heads.outside > 0) text += fmt::format(", {} outside", heads.outside);
    if (heads.missing > 0) text += fmt::format(", {} without", heads.missing);
    return text;
  }

  static Json thresholds(const PortraitAxis& axis, const char* channel, Json position) {
    Json rows = Json::array();
    for (const double at : axis.thresholds()) rows.push_back({{axis.key(), at}});
    position["field"] = axis.key();
    return {{"data", {{"values", rows}}},
            {"mark",
             {{"type", "rule"},
              {"strokeDash", {4, 3}},
              {"strokeWidth", 1},
              {"color", theme::kSeparator}}},
            {"encoding", {{channel, position}}}};
  }

  Json points(size_t index, Json x, Json y) const {
    x["field"] = across_.key();
    y["field"] = up_.key();
    Json names = Json::array(), colors = Json::array(), tooltip = Json::array();
    for (const HeadClass head_class : kHeadClasses) {
      names.push_back(class_name(head_class));
      colors.push_back(head_class == HeadClass::mixed ? kMixedPoint
                                                      : theme::class_color(head_class));
    }
    for (const std::string& field : std::vector<std::string>{"layer", "q_head", across_.key(),
                                                             up_.key(), "class", "position"}) {
      tooltip.push_back({{"field", field}});
    }
    const Json color_scale{{"domain", names}, {"range", colors}};
    const Json legend{
        {"orient", "top"}, {"title", nullptr}, {"labelFontSize", 13}, {"columnPadding", 10}};
    Json class_legend = legend;
    class_legend["symbolType"] = "circle";
    class_legend["symbolOpacity"] = 1;
    Json encoding{{"x", x},
                  {"y", y},
                  {"color",
                   {{"field", "class"},
                    {"type", "nominal"},
                    {"scale", color_scale},
                    {"legend", class_legend}}},
                  {"tooltip", tooltip}};
    if (nope_) {
      Json shape_legend = legend;
      shape_legend["symbolFillColor"]["expr"] =
          fmt::format("datum.value === 'NoPE' ? '{}' : '{}'", theme::kWhite, theme::kInk);
      shape_legend["symbolStrokeColor"] = theme::kInk;
      shape_legend["symbolStrokeWidth"] = 1.7;
      // NoPE heads are hollow diamonds, so that both shape and fill distinguish them.
      encoding["shape"] = {
          {"field", "position"},
          {"type", "nominal"},
          {"scale", {{"domain", {"RoPE", "NoPE"}}, {"range", {"circle", "diamond"}}}},
          {"legend", shape_legend}};
      encoding["fillOpacity"] = {
          {"condition", {{"test", "datum.position === 'NoPE'"}, {"value", 0}}}, {"value", 0.6}};
      encoding["size"] = {{"condition", {{"test", "datum.position === 'NoPE'"}, {"value", 46}}},
                          {"value", kPointSize}};
      encoding["strokeWidth"] = {
          {"condition", {{"test", "datum.position === 'NoPE'"}, {"value", 1.7}}}, {"value", 0.5}};
    }
    encoding["fill"] = encoding["color"];
    return {{"name", fmt::format("heads_{}", index)},
            {"data", {{"name", fmt::format("heads {}", index)}}},
            {"transform", Json::array({Json{{"filter", "!datum.outside"}}})},
            {"mark",
             {{"type", "point"},
              {"size", kPointSize},
              {"fillOpacity", 0.6},
              {"strokeWidth", 0.5},
              {"opacity", 1},
              {"strokeOpacity", 0.9}}},
            {"encoding", encoding}};
  }

  // Single points need more contrast with white than the grey of the bars has.
  static constexpr std::string_view kMixedPoint = "#9aa3ad";

  const RunNumbers& run_;
  std::vector<const CheckpointNumbers*> chosen_;
  const PortraitAxis& across_;
  const PortraitAxis& up_;
  bool nope_;
};

}  // namespace

std::vector<const CheckpointNumbers*> portrait_checkpoints(const RunNumbers& run,
                                                           const FigureOptions& options) {
  std::vector<const CheckpointNumbers*> chosen;
  for (const std::string& label : options.portraits) {
    chosen.push_back(&find_checkpoint(run, label));
  }
  if (!chosen.empty()) return chosen;
  const size_t most = run.models ? kModels : kPortraits;
  const size_t count = std::min(most, run.checkpoints.size());
  for (size_t i = 0; i < count; ++i) {
    const double position = count == 1 ? 0
                                       : static_cast<double>(i) *
                                             static_cast<double>(run.checkpoints.size() - 1) /
                                             static_cast<double>(count - 1);
    chosen.push_back(&run.checkpoints[static_cast<size_t>(std::lround(position))]);
  }
  return chosen;
}

Json portraits(const RunNumbers& run, const FigureOptions& options, size_t x, size_t y) {
  const auto chosen = portrait_checkpoints(run, options);
  const PortraitAxis across(chosen, x), up(chosen, y);
  bool nope = false;
  for (const CheckpointNumbers* numbers : chosen) {
    for (const HeadPoint& head : numbers->heads) nope = nope || head.rope == false;
  }
  const double width = kColumns * kPanel + (kColumns - 1) * kGap;
  const bool published = across.key() == "r_q" && up.key() == "r_k";
  std::string title = "Heads by query and key correlation";
  std::string subtitle = "Each point is a head: r_q and r_k on PC0.";
  if (!published) {
    title = fmt::format("Heads by {} and {}", across.short_title(), up.short_title());
    subtitle = fmt::format(
        "Each point is a head, coloured by its class on PC0. Horizontal: {} Vertical: {}",
        across.sentence(), up.sentence());
  }
  if (!across.thresholds().empty() || !up.thresholds().empty()) {
    subtitle += " Dashed: thresholds of the classes, 0.3 and 0.7.";
  }
  if (nope) subtitle += " Hollow diamonds: heads of layers without RoPE.";
  if (published) subtitle += notes_on_pc0(run);
  Json spec = theme::begin_figure(options.title, title, subtitle, width);
  const PortraitPanels panels(run, chosen, across, up, nope);
  Json views = Json::array();
  Json& datasets = spec["datasets"];
  for (size_t i = 0; i < chosen.size(); ++i) views.push_back(panels.panel(i, datasets));
  spec["concat"] = views;
  spec["columns"] = kColumns;
  spec["spacing"] = {{"row", 14}, {"column", kGap}};
  return spec;
}

}  // namespace ropewalk
