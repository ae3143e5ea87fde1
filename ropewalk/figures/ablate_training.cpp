#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/figures/ablate_figure.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kWidth = 300;
constexpr double kHeight = 170;
constexpr double kGap = 40;
constexpr size_t kColumns = 2;
constexpr double kLabelRoom = 90;
constexpr std::string_view kGrey = "#8b949e";
constexpr const char* kSet = "the set, ± 95 %";
constexpr const char* kControls = "random sets, ± 1 SD";

// A set under an edit: one panel.
struct Panel {
  std::string set;
  std::string edit;
};

std::vector<Panel> panels_of(const std::vector<Ablation>& checkpoints) {
  std::vector<Panel> panels;
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      const std::string& set = ablation.sets[one.set].chosen.name.text;
      const bool known = std::any_of(panels.begin(), panels.end(), [&](const Panel& panel) {
        return panel.set == set && panel.edit == one.edit.text;
      });
      if (!known) panels.push_back({set, one.edit.text});
    }
  }
  return panels;
}

std::string label_of(const Ablation& ablation) {
  return fit_middle(ablation.label, theme::kLabelSize, kLabelRoom);
}

Json row(const std::string& checkpoint, const char* kind, double value, double half) {
  if (std::isnan(half)) half = 0;
  return {{"checkpoint", checkpoint},
          {"kind", kind},
          {"value", value},
          {"low", value - half},
          {"high", value + half}};
}

Json rows_of(const std::vector<Ablation>& checkpoints, const Panel& panel) {
  Json rows = Json::array();
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      const bool mine =
          ablation.sets[one.set].chosen.name.text == panel.set && one.edit.text == panel.edit;
      if (!mine) continue;
      const EditEffect& effect = one.effects.front();
      const double wide = student_t_95(static_cast<double>(effect.groups) - 1);
      rows.push_back(row(label_of(ablation), kSet, effect.dloss, wide * effect.dloss_se));
      if (effect.controls == 0) continue;
      rows.push_back(row(label_of(ablation), kControls, effect.control, effect.control_sd));
    }
  }
  return rows;
}

Json panel_view(const Panel& panel, const std::string& name, const Json& labels) {
  const Json x{{"field", "checkpoint"},
               {"type", "ordinal"},
               {"scale", {{"domain", labels}}},
               {"axis", {{"title", nullptr}, {"labelAngle", -40}, {"labelOverlap", true}}}};
  const auto y = [](const char* field) {
    return Json{{"field", field},
                {"type", "quantitative"},
                {"axis", {{"title", "nats per token"}, {"tickCount", 5}}}};
  };
  const Json color{{"field", "kind"},
                   {"type", "nominal"},
                   {"scale", {{"domain", {kSet, kControls}}, {"range", {theme::kBoth, kGrey}}}},
                   {"legend", {{"orient", "top"}, {"title", nullptr}}}};
  const Json zero{
      {"mark", {{"type", "rule"}, {"color", theme::kSeparator}, {"strokeDash", {3, 3}}}},
      {"encoding", {{"y", {{"datum", 0}}}}}};
  const Json spans{
      {"mark", {{"type", "rule"}, {"strokeWidth", 2}}},
      {"encoding", {{"x", x}, {"y", y("low")}, {"y2", {{"field", "high"}}}, {"color", color}}}};
  const Json lines{
      {"mark", {{"type", "line"}, {"strokeWidth", 2.2}, {"point", true}}},
      {"encoding",
       {{"x", x},
        {"y", y("value")},
        {"color", color},
        {"tooltip", {{{"field", "checkpoint"}}, {{"field", "kind"}}, {{"field", "value"}}}}}}};
  return {{"name", name},
          {"title",
           {{"text", theme::title(panel.edit)},
            {"subtitle", fit_middle(panel.set, theme::kSubtitleSize, kWidth)},
            {"anchor", "start"},
            {"frame", "group"},
            {"fontSize", theme::kLabelSize},
            {"offset", 8}}},
          {"data", {{"name", name}}},
          {"width", kWidth},
          {"height", kHeight},
          {"layer", {zero, spans, lines}}};
}

}  // namespace

Json ablate_training_figure(const std::string& title, const std::vector<Ablation>& checkpoints) {
  Json spec = theme::begin_figure(
      title, "What the model needs of its heads, over training",
      "Change of the loss when something is taken from a set of heads, beside the same in random "
      "sets of as many heads in the same layers. Each checkpoint chooses its own heads.",
      kColumns * kWidth + kGap);
  Json labels = Json::array(), views = Json::array();
  for (const Ablation& ablation : checkpoints) labels.push_back(label_of(ablation));
  Json& datasets = spec["datasets"];
  const std::vector<Panel> panels = panels_of(checkpoints);
  for (size_t i = 0; i < panels.size(); ++i) {
    const std::string name = fmt::format("panel {}", i);
    datasets[name] = rows_of(checkpoints, panels[i]);
    views.push_back(panel_view(panels[i], name, labels));
  }
  spec["concat"] = views;
  spec["columns"] = kColumns;
  spec["spacing"] = kGap;
  return spec;
}

}  // namespace ropewalk
