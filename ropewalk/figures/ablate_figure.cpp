#include "ropewalk/figures/ablate_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kLineHeight = 46;  // pixels per set
constexpr double kNameRoom = 210;   // pixels for a set's name
constexpr double kPlotWidth = theme::kPlotWidth - 80;

// The legend's name for the set itself.
constexpr const char* kSet = "the set, ± 95 %";
constexpr const char* kControls = "random sets, as many heads per layer";
constexpr const char* kRemoved = "removal: outputs are their means";

struct MarkKind {
  const char* name;
  std::string_view color;
  const char* shape;  // vertical strokes for control sets, because these overlap
  int size;
  int below;  // pixels below the line of the set, so that intervals do not overlap
};
constexpr MarkKind kKinds[] = {{kControls, "#8b949e", "M-0.09,-1L0.09,-1L0.09,1L-0.09,1Z", 260, 0},
                               {kRemoved, theme::kInk, "circle", 70, 11},
                               {kSet, theme::kBoth, "diamond", 130, 0}};

std::string edit_words(const EditName& edit) {
  switch (edit.kind) {
    case EditName::Kind::distance:
      return edit.keep_mass ? "without its preference of distance"
                            : "without its preference of distance, attention mass not kept";
    case EditName::Kind::window:
      return fmt::format("keys further than {:.0f} tokens away are not seen", edit.number);
    case EditName::Kind::still:
      return fmt::format("rotary pairs with wavelengths above {:g} tokens are not rotated",
                         edit.number);
    case EditName::Kind::zero_band:
      return fmt::format("rotary pairs of queries with wavelengths above {:g} tokens are zero",
                         edit.number);
    case EditName::Kind::flatten:
      return fmt::format("without the linear drift of {}", edit.q && edit.k ? "queries and keys"
                                                           : edit.q         ? "queries"
                                                                            : "keys");
    case EditName::Kind::axis:
      return "without the drift axis";
    case EditName::Kind::head:
      break;
  }
  return edit.zero ? "outputs are zero" : "outputs are their mean over other documents";
}

double interval(const EditEffect& effect, double se) {
  return std::isnan(se) ? 0 : student_t_95(static_cast<double>(effect.groups) - 1) * se;
}

Json point(const std::string& set, const char* kind, double value, double half) {
  return {{"set", set},
          {"kind", kind},
          {"value", value},
          {"low", value - half},
          {"high", value + half}};
}

std::vector<const Ablation::EditedSet*> edits_of_set(const Ablation& ablation,
                                                     const std::string& edit) {
  std::vector<const Ablation::EditedSet*> found;
  for (const Ablation::EditedSet& one : ablation.cases) {
    if (one.edit.text == edit) found.push_back(&one);
  }
  return found;
}

std::vector<EditName> edits_of(const Ablation& ablation) {
  std::vector<EditName> edits;
  for (const Ablation::EditedSet& one : ablation.cases) {
    if (one.set == 0) edits.push_back(one.edit);
  }
  return edits;
}

std::string set_name(const Ablation& ablation, size_t set) {
  return fit_middle(ablation.sets[set].chosen.name.text, theme::kLabelSize, kNameRoom - 12);
}

Json rows_of(const Ablation& ablation, const std::vector<const Ablation::EditedSet*>& cases) {
  Json rows = Json::array();
  for (const Ablation::EditedSet* one : cases) {
    const std::string name = set_name(ablation, one->set);
    const EditEffect& effect = one->effects.front();
    for (const EditSums& control : one->sums.controls) {
      const EditEffect change = measure_change(ablation.documents, ablation.unedited, control);
      rows.push_back(point(name, kControls, change.dloss, 0));
    }
    if (one->edit.text != kRemoval && !std::isnan(effect.removal)) {
      rows.push_back(point(name, kRemoved, effect.removal, interval(effect, effect.removal_se)));
    }
    Json set = point(name, kSet, effect.dloss, interval(effect, effect.dloss_se));
    set["text"] =
        fmt::format("{}{}", effect.dloss > 0 ? "+" : "", theme::decimals(effect.dloss, 3));
    if (effect.real)
      set["text"] = set["text"].get<std::string>() + (*effect.real ? "" : " (not real)");
    rows.push_back(set);
  }
  return rows;
}

Json kind_scale() {
  Json scale{{"domain", Json::array()}, {"range", Json::array()}};
  for (const MarkKind& kind : kKinds) scale["domain"].push_back(kind.name);
  return scale;
}

Json legend() {
  return {{"orient", "top"}, {"title", nullptr}, {"columns", 3}, {"symbolOpacity", 1}};
}

// The marks of every set: for each kind a layer of intervals and a layer of points.
Json layers_of(const Json& y) {
  const auto x = [](const char* field) {
    return Json{{"field", field},
                {"type", "quantitative"},
                {"scale", {{"zero", true}}},
                {"axis", {{"title", "change of the loss, nats per token"}, {"tickCount", 6}}}};
  };
  Json color_scale = kind_scale(), shape_scale = kind_scale();
  for (const MarkKind& kind : kKinds) {
    color_scale["range"].push_back(kind.color);
    shape_scale["range"].push_back(kind.shape);
  }
  const auto by_kind = [](const Json& scale) {
    return Json{{"field", "kind"}, {"type", "nominal"}, {"scale", scale}, {"legend", legend()}};
  };
  const Json color = by_kind(color_scale), shape = by_kind(shape_scale);
  Json zero{{"mark", {{"type", "rule"}, {"color", theme::kSeparator}, {"strokeDash", {3, 3}}}}};
  zero["encoding"]["x"]["datum"] = 0;
  Json layers = Json::array({zero});
  for (const MarkKind& kind : kKinds) {
    Json spans{{"mark", {{"type", "rule"}, {"strokeWidth", 2}, {"yOffset", kind.below}}}};
    spans["encoding"] = {{"x", x("low")}, {"x2", {{"field", "high"}}}, {"y", y}, {"color", color}};
    Json points{{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.9}}}};
    points["mark"]["size"] = kind.size;
    points["mark"]["yOffset"] = kind.below;
    points["encoding"] = {{"x", x("value")}, {"y", y}, {"color", color}, {"shape", shape}};
    for (const char* field : {"set", "kind", "value"}) {
      points["encoding"]["tooltip"].push_back({{"field", field}});
    }
    for (Json* layer : {&spans, &points}) {
      (*layer)["transform"].push_back({{"filter", fmt::format("datum.kind === '{}'", kind.name)}});
      layers.push_back(*layer);
    }
  }
  Json texts{{"mark", {{"type", "text"}, {"dy", -15}, {"fontSize", theme::kLabelSize - 2}}}};
  texts["transform"].push_back({{"filter", "isValid(datum.text)"}});
  texts["encoding"] = {{"x", x("value")}, {"y", y}, {"text", {{"field", "text"}}}};
  Json ground = texts;  // so that no line crosses a number
  ground["mark"].update({{"stroke", theme::kWhite}, {"strokeWidth", 4}, {"strokeJoin", "round"}});
  layers.push_back(ground);
  layers.push_back(texts);
  return layers;
}

Json panel(const Ablation& ablation, const EditName& edit, size_t number, Json& datasets) {
  const auto cases = edits_of_set(ablation, edit.text);
  const std::string name = fmt::format("edit {}", number);
  datasets[name] = rows_of(ablation, cases);
  Json names = Json::array();
  for (const Ablation::EditedSet* one : cases) names.push_back(set_name(ablation, one->set));
  const Json y{
      {"field", "set"},
      {"type", "nominal"},
      {"scale", {{"domain", names}}},
      {"axis", {{"title", nullptr}, {"labelLimit", kNameRoom}, {"minExtent", kNameRoom - 20}}}};
  return {{"name", name},
          {"title",
           {{"text", theme::title(edit.text + ": " + edit_words(edit))},
            {"anchor", "start"},
            {"frame", "group"},
            {"fontSize", theme::kLabelSize},
            {"fontWeight", "bold"},
            {"offset", 8}}},
          {"data", {{"name", name}}},
          {"width", kPlotWidth},
          {"height", kLineHeight * static_cast<double>(cases.size())},
          {"layer", layers_of(y)}};
}

std::string subtitle(const Ablation& ablation) {
  const EditEffect& effect = ablation.cases.front().effects.front();
  std::string text = fmt::format(
      "Loss without edits: {} nats per token, on {} of up to {} tokens that the capture did not "
      "read. Lines: 95 % intervals over {}.",
      theme::decimals(effect.loss, 3), format_number_of(ablation.documents.count(), "document"),
      *std::max_element(ablation.documents.tokens.begin(), ablation.documents.tokens.end()),
      effect.groups == ablation.documents.count() ? "documents" : "texts");
  return text + " Other heads may compensate, so the effect is a lower bound.";
}

}  // namespace

Json ablate_figure(const Ablation& ablation) {
  Json spec =
      theme::begin_figure(ablation.label.empty() ? ablation.model : ablation.label,
                          "What the model needs of its heads", subtitle(ablation), kPlotWidth);
  Json& datasets = spec["datasets"];
  Json views = Json::array();
  const std::vector<EditName> edits = edits_of(ablation);
  for (size_t i = 0; i < edits.size(); ++i) {
    views.push_back(panel(ablation, edits[i], i, datasets));
  }
  spec["vconcat"] = views;
  spec["spacing"] = 26;
  return spec;
}

}  // namespace ropewalk
