// How much of a head's variance its leading components hold, over a training run.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/mean_layers.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 250;
constexpr double kSpectrumHeight = 190;
constexpr double kBarShare = 0.8;  // of the step between checkpoints
constexpr double kWidestBar = 90;  // pixels
constexpr double kLabelledStep = 34;
constexpr double kLabelledShare = 0.07;

// PC0 as in the line above, then the others, ever lighter.
std::string component_color(size_t pc, size_t components) {
  static const theme::ColorRamp kPurples{"#fcfbfd", "#efedf5", "#dadaeb", "#bcbddc", "#9e9ac8",
                                         "#807dba", "#6a51a3", "#54278f", "#3f007d"};
  if (pc == 0) return std::string(theme::kVariance);
  const double part =
      components > 2 ? static_cast<double>(pc - 1) / static_cast<double>(components - 2) : 0;
  return theme::ramp_color(kPurples, 0.6 - 0.4 * part);
}

size_t most_components(const CheckpointAxis& axis) {
  size_t most = 0;
  for (const Slot& slot : axis.slots()) most = std::max(most, slot.numbers->spectrum.size());
  return most;
}

Json spectrum_rows(const CheckpointAxis& axis) {
  const size_t components = most_components(axis);
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    double below = 0;
    for (size_t pc = 0; pc < slot.numbers->spectrum.size(); ++pc) {
      const double share = slot.numbers->spectrum[pc];
      rows.push_back({{"checkpoint", slot.numbers->label},
                      {"x", slot.position},
                      {"component", fmt::format("PC{}", pc)},
                      {"pc", pc},
                      {"share", share},
                      {"from", below},
                      {"to", below + share},
                      {"color", component_color(pc, components)}});
      below += share;
    }
  }
  return rows;
}

// PC0's share inside its segment, and the sum above each bar, in per cent.
Json number_rows(const CheckpointAxis& axis) {
  const size_t components = most_components(axis);
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    const std::vector<double>& spectrum = slot.numbers->spectrum;
    if (spectrum.empty()) continue;
    double sum = 0;
    for (const double share : spectrum) sum += share;
    if (spectrum[0] >= kLabelledShare) {
      rows.push_back({{"x", slot.position},
                      {"y", spectrum[0] / 2},
                      {"text", theme::decimals(100 * spectrum[0], 0)},
                      {"ink", theme::ink_on(component_color(0, components))}});
    }
    rows.push_back({{"x", slot.position},
                    {"y", sum + 0.055},
                    {"text", theme::decimals(100 * sum, 0)},
                    {"ink", theme::kInk}});
  }
  return rows;
}

Json spectrum_view(const CheckpointAxis& axis, Json& datasets) {
  const double width = theme::kPlotWidth, step = width / axis.length();
  const size_t components = most_components(axis);
  datasets["spectrum"] = spectrum_rows(axis);
  const auto y = [](const char* field) {
    return Json{{"field", field},
                {"type", "quantitative"},
                {"stack", nullptr},
                {"scale", {{"domain", {0, 1.1}}, {"nice", false}}},
                {"axis",
                 {{"title", "share of variance"},
                  {"values", {0, 0.2, 0.4, 0.6, 0.8, 1}},
                  {"format", ".1f"},
                  {"domain", false},
                  {"ticks", false}}}};
  };
  Json names = Json::array(), colors = Json::array();
  for (size_t pc = 0; pc < components; ++pc) {
    names.push_back(fmt::format("PC{}", pc));
    colors.push_back(component_color(pc, components));
  }
  Json layers = Json::array();
  layers.push_back(
      {{"name", "spectrum"},
       {"data", {{"name", "spectrum"}}},
       {"mark",
        {{"type", "bar"},
         {"orient", "vertical"},
         {"size", std::min(kWidestBar, kBarShare * step)},
         {"stroke", theme::kWhite},
         {"strokeWidth", 0.6}}},
       {"encoding",
        {{"x", axis.x_channel(width)},
         {"y", y("from")},
         {"y2", {{"field", "to"}}},
         {"color",
          {{"field", "component"},
           {"type", "nominal"},
           {"scale", {{"domain", names}, {"range", colors}}},
           {"legend",
            {{"orient", "bottom"},
             {"title", nullptr},
             {"symbolType", "square"},
             {"symbolStrokeWidth", 0},
             {"columns", 10},
             {"columnPadding", 10},
             {"offset", 10}}}}},
         {"tooltip", Json::array({Json{{"field", "checkpoint"}}, Json{{"field", "component"}},
                                  Json{{"field", "share"}}})}}}});
  if (step >= kLabelledStep) {
    datasets["numbers"] = number_rows(axis);
    layers.push_back({{"name", "numbers"},
                      {"data", {{"name", "numbers"}}},
                      {"mark", {{"type", "text"}, {"baseline", "middle"}, {"fontSize", 13}}},
                      {"encoding",
                       {{"x", axis.x_channel(width)},
                        {"y", y("y")},
                        {"text", {{"field", "text"}, {"type", "nominal"}}},
                        {"color", {{"field", "ink"}, {"type", "nominal"}, {"scale", nullptr}}}}}});
  }
  Json unused;
  Json separators = Json::array();
  axis.add_phase_layers(separators, unused, width);
  for (Json& layer : separators) {
    if (layer["name"] == "separators") layers.push_back(layer);
  }
  return {{"title",
           {{"text", fmt::format("Components PC0 to PC{}, stacked{}", components - 1,
                                 step >= kLabelledStep ? " (per cent: PC0, and all)" : "")},
            {"fontSize", 15},
            {"offset", 6}}},
          {"width", width},
          {"height", kSpectrumHeight},
          {"layer", layers}};
}

// Where the band ends, rounded outwards to a tick.
double upper_limit(const CheckpointAxis& axis) {
  double high = 0.1;
  for (const Slot& slot : axis.slots()) {
    const HeadMean& number = slot.numbers->explained_variance;
    const double spread = slot.baseline || std::isnan(number.sd) ? 0 : number.sd;
    if (!std::isnan(number.mean)) high = std::max(high, number.mean + spread);
  }
  return std::ceil(high * 10 - 1e-9) / 10;
}

}  // namespace

Json explained_variance(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run);
  const double width = theme::kPlotWidth;
  std::string subtitle =
      "Mean share of variance over " + heads_text(run) + "; band: ±1 SD across heads";
  if (run.standard_errors) subtitle += "; bars: ±1 standard error over documents";
  subtitle += ".";
  if (!run.baselines.empty()) subtitle += " Dotted: freshly initialised weights.";
  Json spec = theme::begin_figure(options.title, "Variance explained by PC0 over training",
                                  subtitle, width);
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];

  const MeanSeries series{
      "PC0",    theme::kVariance,
      "circle", 2.6,
      true,     [](const CheckpointNumbers& c) { return c.explained_variance; }};
  const double high = upper_limit(axis);
  const MeanPlot plot{"explained variance of PC0", 0, high, high <= 0.6 ? 0.1 : 0.2, width, false};
  Json top{{"width", width}, {"height", kHeight}};
  add_mean_layers(top, datasets, axis, {series}, plot);
  Json views = Json::array({top});
  if (most_components(axis) > 1) views.push_back(spectrum_view(axis, datasets));
  spec["vconcat"] = views;
  spec["spacing"] = 22;
  spec["resolve"] = {{"scale", {{"color", "independent"}}}};
  return spec;
}

}  // namespace ropewalk
