// r_q against r_k of every head on PC0, at a few checkpoints.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/text_width.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr size_t kPortraits = 6;
constexpr size_t kColumns = 3;
constexpr double kPanel = 206;  // pixels, both ways
constexpr double kGap = 22;
constexpr double kLowR_q = -0.05, kHighR_q = 1.05, kLimitR_k = 1.05;
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
  throw UsageError("portrait '{}': {} has no such checkpoint; it has {}", printable(label),
                   run.source, known_labels(run));
}

bool outside(const HeadPoint& head) { return head.r_q < kLowR_q; }

Json point_rows(const CheckpointNumbers& numbers) {
  Json rows = Json::array();
  for (const HeadPoint& head : numbers.heads) {
    Json row{{"layer", head.layer},
             {"q_head", head.q_head},
             {"r_q", head.r_q},
             {"r_k", head.r_k},
             {"class", class_name(head.head_class)}};
    if (head.rope) row["position"] = *head.rope ? "RoPE" : "NoPE";
    rows.push_back(std::move(row));
  }
  return rows;
}

Json threshold_rows() {
  Json rows = Json::array();
  for (const double at : {kLowCorrelation, kHighCorrelation}) {
    rows.push_back({{"r_q", at}});
    rows.push_back({{"r_k", at}});
    rows.push_back({{"r_k", -at}});
  }
  return rows;
}

Json axis(const char* title, bool shown, const Json& values) {
  return {{"title", shown ? Json(title) : Json()},
          {"values", values},
          {"format", ".1f"},
          {"labels", shown},
          {"grid", false},
          {"domain", true},
          {"ticks", shown}};
}

class PortraitPanels {
 public:
  PortraitPanels(std::vector<const CheckpointNumbers*> chosen, bool nope)
      : chosen_(std::move(chosen)), nope_(nope) {}

  Json panel(size_t index) const {
    const CheckpointNumbers& numbers = *chosen_[index];
    const size_t columns = std::min(kColumns, chosen_.size());
    const bool left = index % columns == 0, bottom = index + columns >= chosen_.size();
    const Json x{
        {"type", "quantitative"},
        {"scale", {{"domain", {kLowR_q, kHighR_q}}, {"nice", false}, {"zero", false}}},
        {"axis", axis("r_q (queries)", bottom, {0, kLowCorrelation, kHighCorrelation, 1})}};
    const Json y{{"type", "quantitative"},
                 {"scale", {{"domain", {-kLimitR_k, kLimitR_k}}, {"nice", false}, {"zero", false}}},
                 {"axis", axis("r_k (keys)", left,
                               {-kHighCorrelation, -kLowCorrelation, 0, kLowCorrelation,
                                kHighCorrelation})}};
    return {{"name", fmt::format("panel_{}", index)},
            {"title",
             {{"text", fit_text(printable(numbers.label), 15 * 1.08, kPanel)},
              {"subtitle", fit_text(description(numbers), 13, kPanel)},
              {"fontSize", 15},
              {"subtitleFontSize", 13},
              {"subtitlePadding", 3},
              {"offset", 6}}},
            {"width", kPanel},
            {"height", kPanel},
            {"view", {{"stroke", theme::kSeparator}}},
            {"layer", Json::array({thresholds("r_q", "x", x), thresholds("r_k", "y", y),
                                   points(index, x, y)})}};
  }

 private:
  static std::string description(const CheckpointNumbers& numbers) {
    std::string text = numbers.phase.empty() ? "" : printable(numbers.phase) + ", ";
    text += fmt::format("n = {}", numbers.heads.size());
    const auto unseen = std::count_if(numbers.heads.begin(), numbers.heads.end(), outside);
    if (unseen > 0) text += fmt::format(", {} outside", unseen);
    return text;
  }

  static Json thresholds(const char* field, const char* channel, Json position) {
    position["field"] = field;
    return {{"data", {{"name", "thresholds"}}},
            {"transform", Json::array({Json{{"filter", fmt::format("isValid(datum.{})", field)}}})},
            {"mark",
             {{"type", "rule"},
              {"strokeDash", {4, 3}},
              {"strokeWidth", 1},
              {"color", theme::kSeparator}}},
            {"encoding", {{channel, position}}}};
  }

  Json points(size_t index, Json x, Json y) const {
    x["field"] = "r_q";
    y["field"] = "r_k";
    Json names = Json::array(), colors = Json::array(), tooltip = Json::array();
    for (const HeadClass head_class : kHeadClasses) {
      names.push_back(class_name(head_class));
      colors.push_back(head_class == HeadClass::mixed ? kMixedPoint
                                                      : theme::class_color(head_class));
    }
    for (const char* field : {"layer", "q_head", "r_q", "r_k", "class", "position"}) {
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
      // NoPE heads are hollow diamonds: told apart by shape and by fill.
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
            {"mark",
             {{"type", "point"},
              {"size", kPointSize},
              {"fillOpacity", 0.6},
              {"strokeWidth", 0.5},
              {"opacity", 1},
              {"strokeOpacity", 0.9},
              {"clip", true}}},
            {"encoding", encoding}};
  }

  // Single points need more contrast with white than the bars' grey has.
  static constexpr std::string_view kMixedPoint = "#9aa3ad";

  std::vector<const CheckpointNumbers*> chosen_;
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
  const size_t count = std::min(kPortraits, run.checkpoints.size());
  for (size_t i = 0; i < count; ++i) {
    const double place = count == 1 ? 0
                                    : static_cast<double>(i) *
                                          static_cast<double>(run.checkpoints.size() - 1) /
                                          static_cast<double>(count - 1);
    chosen.push_back(&run.checkpoints[static_cast<size_t>(std::lround(place))]);
  }
  return chosen;
}

Json phase_portraits(const RunNumbers& run, const FigureOptions& options) {
  const auto chosen = portrait_checkpoints(run, options);
  bool nope = false;
  for (const CheckpointNumbers* numbers : chosen) {
    for (const HeadPoint& head : numbers->heads) nope = nope || head.rope == false;
  }
  const double width = kColumns * kPanel + (kColumns - 1) * kGap;
  std::string subtitle =
      "Each point is a head: r_q and r_k on PC0. Dashed: thresholds of the classes, 0.3 and 0.7.";
  if (nope) subtitle += " Hollow diamonds: heads of layers without RoPE.";
  Json spec =
      theme::begin_figure(options.title, "Heads by query and key correlation", subtitle, width);
  Json& datasets = spec["datasets"];
  datasets["thresholds"] = threshold_rows();
  const PortraitPanels panels(chosen, nope);
  Json views = Json::array();
  for (size_t i = 0; i < chosen.size(); ++i) {
    datasets[fmt::format("heads {}", i)] = point_rows(*chosen[i]);
    views.push_back(panels.panel(i));
  }
  spec["concat"] = views;
  spec["columns"] = kColumns;
  spec["spacing"] = {{"row", 14}, {"column", kGap}};
  return spec;
}

}  // namespace ropewalk
