#include "ropewalk/figures/forecast_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ropewalk/base/units.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kLineHeight = 30;      // pixels per setting
constexpr double kHeadLineHeight = 26;  // pixels per setting, among heads
constexpr double kNameRoom = 150;       // pixels for a setting's name
constexpr double kPlotWidth = theme::kPlotWidth - 40;
constexpr size_t kMostHeads = 100;  // that are drawn per setting

constexpr const char* kScore = "score, ± 95 %";
constexpr const char* kDisturbance = "disturbance, at distances known from training";
constexpr const char* kExcursion = "excursion, at distances beyond";
constexpr const char* kBreaks = "logits beyond training above all that it was trained with";
constexpr const char* kOthers = "other heads";

struct MarkKind {
  const char* name;
  std::string_view color;
  const char* shape;
  int size;
};
constexpr MarkKind kSettingMarks[] = {{kDisturbance, theme::kInk, "circle", 50},
                                      {kExcursion, theme::kKeys, "triangle-up", 50},
                                      {kScore, theme::kBoth, "diamond", 120}};
constexpr const char* kStroke = "M-0.09,-1L0.09,-1L0.09,1L-0.09,1Z";
constexpr MarkKind kHeadMarks[] = {{kOthers, theme::kSeparator, kStroke, 160},
                                   {kBreaks, theme::kKeys, kStroke, 200}};

std::string setting_name(const SettingForecast& setting) {
  return fit_middle(setting.spec.text, theme::kLabelSize, kNameRoom - 12);
}

// 0 where there is no error.
double half_interval(const Forecast& forecast, const Estimate& estimate) {
  return std::isnan(estimate.se) ? 0 : forecast.interval() * estimate.se;
}

Json setting_rows(const Forecast& forecast, const ForecastLosses* losses) {
  Json rows = Json::array();
  for (const size_t index : forecast.ranked()) {
    const SettingForecast& setting = forecast.settings[index];
    const auto point = [&](const char* kind, const Estimate& estimate) {
      const double half = half_interval(forecast, estimate);
      return Json{{"setting", setting_name(setting)},
                  {"kind", kind},
                  {"value", estimate.value},
                  {"low", estimate.value - half},
                  {"high", estimate.value + half}};
    };
    rows.push_back(point(kDisturbance, setting.disturbance));
    rows.push_back(point(kExcursion, setting.excursion));
    Json score = point(kScore, setting.score);
    std::string text = theme::decimals(setting.score.value, 3);
    if (losses != nullptr) {
      const SettingLoss all = setting_loss(*losses, index, {0, forecast.context - 1});
      score["loss"] = all.loss;
      text += fmt::format(" (loss {})", theme::decimals(all.loss, 3));
    }
    score["text"] = text;
    rows.push_back(score);
  }
  return rows;
}

Json head_rows(const Forecast& forecast) {
  Json rows = Json::array();
  for (const size_t index : forecast.ranked()) {
    const SettingForecast& setting = forecast.settings[index];
    const auto score = [&](size_t i) { return setting.heads[i].score.value; };
    std::vector<size_t> order(setting.heads.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return score(a) > score(b); });
    if (order.size() > kMostHeads) order.resize(kMostHeads);
    for (size_t i = 0; i < order.size(); ++i) {
      const ForecastHead& id = forecast.heads[order[i]];
      const HeadForecast& head = setting.heads[order[i]];
      const std::string name =
          head_name({static_cast<int32_t>(id.layer), static_cast<int32_t>(id.q_head)});
      rows.push_back({{"setting", setting_name(setting)},
                      {"kind", forecast.breaks(head) ? kBreaks : kOthers},
                      {"head", name},
                      {"value", score(order[i])},
                      {"disturbance", head.disturbance.value},
                      {"excursion", head.excursion.value}});
      if (i == 0 && score(order[i]) > 0) rows.back()["text"] = name;
    }
  }
  return rows;
}

template <size_t N>
Json scale_of(const MarkKind (&kinds)[N], const char* channel) {
  Json scale{{"domain", Json::array()}, {"range", Json::array()}};
  for (const MarkKind& kind : kinds) {
    scale["domain"].push_back(kind.name);
    scale["range"].push_back(std::string_view(channel) == "color" ? kind.color
                                                                  : std::string_view(kind.shape));
  }
  return {
      {"field", "kind"},
      {"type", "nominal"},
      {"scale", scale},
      {"legend", {{"orient", "top"}, {"title", nullptr}, {"columns", 1}, {"symbolOpacity", 1}}}};
}

Json x_of(const char* field, const char* title) {
  return {{"field", field},
          {"type", "quantitative"},
          {"scale", {{"zero", true}}},
          {"axis", {{"title", title}, {"tickCount", 6}}}};
}

Json y_of(const Json& names) {
  return {{"field", "setting"},
          {"type", "nominal"},
          {"scale", {{"domain", names}}},
          {"axis", {{"title", nullptr}, {"labelLimit", kNameRoom}, {"minExtent", kNameRoom - 20}}}};
}

// A layer of the points of each kind, over one another.
template <size_t N>
void add_points(Json& layers, const MarkKind (&kinds)[N], const Json& x, const Json& y,
                std::initializer_list<const char*> tooltip) {
  for (const MarkKind& kind : kinds) {
    Json points{{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.9}}}};
    points["mark"]["size"] = kind.size;
    points["transform"].push_back({{"filter", fmt::format("datum.kind === '{}'", kind.name)}});
    points["encoding"] = {{"x", x},
                          {"y", y},
                          {"color", scale_of(kinds, "color")},
                          {"shape", scale_of(kinds, "shape")}};
    for (const char* field : tooltip) {
      points["encoding"]["tooltip"].push_back({{"field", field}});
    }
    layers.push_back(points);
  }
}

// Texts beside points, on a ground that no line crosses.
void add_texts(Json& layers, const Json& x, const Json& y) {
  Json texts{
      {"mark",
       {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"fontSize", theme::kLabelSize - 2}}}};
  texts["transform"].push_back({{"filter", "isValid(datum.text)"}});
  texts["encoding"] = {{"x", x}, {"y", y}, {"text", {{"field", "text"}}}};
  Json ground = texts;
  ground["mark"].update({{"stroke", theme::kWhite}, {"strokeWidth", 4}, {"strokeJoin", "round"}});
  layers.push_back(ground);
  layers.push_back(texts);
}

Json panel(const char* name, const std::string& title, double height, Json layers) {
  return {{"name", name},
          {"title",
           {{"text", theme::title(title)},
            {"anchor", "start"},
            {"frame", "group"},
            {"fontSize", theme::kLabelSize},
            {"fontWeight", "bold"},
            {"offset", 8}}},
          {"data", {{"name", name}}},
          {"width", kPlotWidth},
          {"height", height},
          {"layer", std::move(layers)}};
}

Json settings_panel(const Json& names) {
  constexpr const char* kTitle = "logits, mean over heads";
  const Json y = y_of(names);
  Json spans{{"mark", {{"type", "rule"}, {"strokeWidth", 2}, {"color", theme::kBoth}}}};
  spans["transform"].push_back({{"filter", fmt::format("datum.kind === '{}'", kScore)}});
  spans["encoding"] = {{"x", x_of("low", kTitle)}, {"x2", {{"field", "high"}}}, {"y", y}};
  Json layers = Json::array({spans});
  add_points(layers, kSettingMarks, x_of("value", kTitle), y,
             {"setting", "kind", "value", "low", "high", "loss"});
  add_texts(layers, x_of("value", kTitle), y);
  return panel("settings", "Settings by score, best first",
               kLineHeight * static_cast<double>(names.size()), std::move(layers));
}

Json heads_panel(const Forecast& forecast, const Json& names) {
  constexpr const char* kTitle = "score of the head, logits";
  Json layers = Json::array();
  add_points(layers, kHeadMarks, x_of("value", kTitle), y_of(names),
             {"setting", "head", "disturbance", "excursion"});
  add_texts(layers, x_of("value", kTitle), y_of(names));
  const std::string title = forecast.heads.size() > kMostHeads
                                ? fmt::format("Their heads: the {} that change most", kMostHeads)
                                : "Their heads";
  return panel("heads", title, kHeadLineHeight * static_cast<double>(names.size()),
               std::move(layers));
}

std::string subtitle(const Forecast& forecast) {
  std::string text = fmt::format(
      "Forecast for {} tokens, of a model trained at {}, from the mean queries and keys of {} with "
      "RoPE. ",
      forecast.context, forecast.trained.tokens,
      format_number_of(static_cast<int64_t>(forecast.heads.size()), "head"));
  if (!forecast.block_tokens.empty()) text += "Lines: 95 % intervals over documents. ";
  return text + "It compares settings of one model, before any training with them.";
}

}  // namespace

Json forecast_figure(const Forecast& forecast, const ForecastLosses* losses) {
  Json spec =
      theme::begin_figure(forecast.label.empty() ? forecast.model : forecast.label,
                          "What RoPE settings do to its heads", subtitle(forecast), kPlotWidth);
  spec["datasets"]["settings"] = setting_rows(forecast, losses);
  spec["datasets"]["heads"] = head_rows(forecast);
  Json names = Json::array();
  for (const size_t index : forecast.ranked()) {
    names.push_back(setting_name(forecast.settings[index]));
  }
  spec["vconcat"] = {settings_panel(names), heads_panel(forecast, names)};
  spec["resolve"]["scale"] = {{"color", "independent"}, {"shape", "independent"}};
  spec["spacing"] = 26;
  return spec;
}

}  // namespace ropewalk
