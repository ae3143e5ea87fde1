#include "ropewalk/figures/component_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 190;
constexpr double kBarShare = 0.8;  // of the step between checkpoints
constexpr double kWidestBar = 90;  // pixels
constexpr double kLabelledStep = 34;
constexpr double kLabelledShare = 0.07;

// PC0 as in the line above, then the others, ever lighter.
std::string component_color(size_t pc, size_t components) {
  if (pc == 0) return std::string(theme::kBoth);
  const double part =
      components > 2 ? static_cast<double>(pc - 1) / static_cast<double>(components - 2) : 0;
  return theme::ramp_color(theme::kPurples, 0.6 - 0.4 * part);
}

const std::vector<double>& shares_of(const Slot& slot, size_t reading) {
  return slot.numbers->readings[reading].components;
}

Json share_rows(const CheckpointAxis& axis, size_t reading) {
  const size_t components = most_components(axis, reading);
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    double below = 0;
    const std::vector<double>& shares = shares_of(slot, reading);
    for (size_t pc = 0; pc < shares.size(); ++pc) {
      const double share = shares[pc];
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
Json number_rows(const CheckpointAxis& axis, size_t reading) {
  const size_t components = most_components(axis, reading);
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    const std::vector<double>& shares = shares_of(slot, reading);
    if (shares.empty()) continue;
    double sum = 0;
    for (const double share : shares) sum += share;
    if (shares[0] >= kLabelledShare) {
      rows.push_back({{"x", slot.position},
                      {"y", shares[0] / 2},
                      {"text", theme::decimals(100 * shares[0], 0)},
                      {"ink", theme::ink_on(component_color(0, components))}});
    }
    rows.push_back({{"x", slot.position},
                    {"y", sum + 0.055},
                    {"text", theme::decimals(100 * sum, 0)},
                    {"ink", theme::kInk}});
  }
  return rows;
}

}  // namespace

size_t most_components(const CheckpointAxis& axis, size_t reading) {
  size_t most = 0;
  for (const Slot& slot : axis.slots()) most = std::max(most, shares_of(slot, reading).size());
  return most;
}

Json component_shares(const CheckpointAxis& axis, size_t reading, Json& datasets) {
  const double width = theme::kPlotWidth, step = width / axis.length();
  const size_t components = most_components(axis, reading);
  datasets["spectrum"] = share_rows(axis, reading);
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
    datasets["numbers"] = number_rows(axis, reading);
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
          {"height", kHeight},
          {"layer", layers}};
}

}  // namespace ropewalk
