#include "ropewalk/figures/parts/stacked_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kBarShare = 0.8;  // of the distance between checkpoints
constexpr double kWidestBar = 90;  // pixels
constexpr double kLabelledStep = 34;
constexpr double kLabelledShare = 0.07;

// PC0 has the colour of its line above; further components get lighter.
std::string component_color(size_t pc, size_t components) {
  if (pc == 0) return std::string(theme::kBoth);
  const double part =
      components > 2 ? static_cast<double>(pc - 1) / static_cast<double>(components - 2) : 0;
  return theme::ramp_color(theme::kPurples, 0.6 - 0.4 * part);
}

Json share_rows(const CheckpointAxis& axis, const std::vector<SharePart>& parts) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    double below = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const double share = parts[i].share(*slot.numbers);
      if (std::isnan(share)) continue;
      rows.push_back({{"checkpoint", slot.numbers->label},
                      {"x", slot.along},
                      {"x_from", slot.from},
                      {"x_to", slot.to},
                      {"component", parts[i].name},
                      {"pc", i},
                      {"share", share},
                      {"from", below},
                      {"to", below + share},
                      {"color", parts[i].color}});
      below += share;
    }
  }
  return rows;
}

// The shares inside the segments, and the sum above each bar, in per cent.
Json number_rows(const CheckpointAxis& axis, const std::vector<SharePart>& parts, bool all) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    double sum = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const double share = parts[i].share(*slot.numbers);
      if (std::isnan(share)) continue;
      if (share >= kLabelledShare && (all || i == 0)) {
        rows.push_back({{"x", slot.along},
                        {"y", sum + share / 2},
                        {"text", theme::decimals(100 * share, 0)},
                        {"ink", theme::text_color_on(parts[i].color)}});
      }
      sum += share;
    }
    if (all || sum == 0) continue;
    rows.push_back({{"x", slot.along},
                    {"y", sum + 0.055},
                    {"text", theme::decimals(100 * sum, 0)},
                    {"ink", theme::kInk}});
  }
  return rows;
}

Json y_channel(const char* field, double top) {
  return {{"field", field},
          {"type", "quantitative"},
          {"stack", nullptr},
          {"scale", {{"domain", {0, top}}, {"nice", false}}},
          {"axis",
           {{"title", "share of variance"},
            {"values", {0, 0.2, 0.4, 0.6, 0.8, 1}},
            {"format", ".1f"},
            {"domain", false},
            {"ticks", false}}}};
}

Json color_channel(const std::vector<SharePart>& parts) {
  Json names = Json::array(), colors = Json::array();
  for (const SharePart& part : parts) {
    names.push_back(part.name);
    colors.push_back(part.color);
  }
  return {{"field", "component"},
          {"type", "nominal"},
          {"scale", {{"domain", names}, {"range", colors}}},
          {"legend",
           {{"orient", "bottom"},
            {"title", nullptr},
            {"symbolType", "square"},
            {"symbolStrokeWidth", 0},
            {"columns", 10},
            {"columnPadding", 10},
            {"offset", 10}}}};
}

Json bars_layer(const Json& x, const std::vector<SharePart>& parts, const std::string& dataset,
                double top, double step) {
  return {{"name", dataset},
          {"data", {{"name", dataset}}},
          {"mark",
           {{"type", "bar"},
            {"orient", "vertical"},
            {"size", std::min(kWidestBar, kBarShare * step)},
            {"stroke", theme::kWhite},
            {"strokeWidth", 0.6}}},
          {"encoding",
           {{"x", x},
            {"y", y_channel("from", top)},
            {"y2", {{"field", "to"}}},
            {"color", color_channel(parts)},
            {"tooltip", Json::array({Json{{"field", "checkpoint"}}, Json{{"field", "component"}},
                                     Json{{"field", "share"}}})}}}};
}

Json numbers_layer(const Json& x, double top) {
  return {{"name", "numbers"},
          {"data", {{"name", "numbers"}}},
          {"mark", {{"type", "text"}, {"baseline", "middle"}, {"fontSize", 13}}},
          {"encoding",
           {{"x", x},
            {"y", y_channel("y", top)},
            {"text", {{"field", "text"}, {"type", "nominal"}}},
            {"color", {{"field", "ink"}, {"type", "nominal"}, {"scale", nullptr}}}}}};
}

}  // namespace

std::vector<SharePart> component_parts(const CheckpointAxis& axis, size_t view) {
  size_t most = 0;
  for (const Slot& slot : axis.slots()) {
    most = std::max(most, slot.numbers->views[view].components.size());
  }
  std::vector<SharePart> parts;
  for (size_t pc = 0; pc < most; ++pc) {
    const auto share = [view, pc](const CheckpointNumbers& numbers) {
      const std::vector<double>& shares = numbers.views[view].components;
      return pc < shares.size() ? shares[pc] : std::nan("");
    };
    parts.push_back({fmt::format("PC{}", pc), component_color(pc, most), share});
  }
  return parts;
}

Json stacked_shares(const CheckpointAxis& axis, const std::vector<SharePart>& parts,
                    const ShareLook& look, Json& datasets) {
  const double width = theme::kPlotWidth, step = width / axis.length();
  const Json x = axis.x_channel(width);
  const double top = look.all_parts ? 1 : 1.1;
  datasets[look.dataset] = share_rows(axis, parts);
  Json layers = Json::array({bars_layer(x, parts, look.dataset, top, step)});
  axis.widen_bars(layers.back(), width);
  const bool numbered = !axis.timed() && step >= kLabelledStep;
  if (numbered) {
    datasets["numbers"] = number_rows(axis, parts, look.all_parts);
    layers.push_back(numbers_layer(x, top));
  }
  if (look.title.empty()) {
    axis.add_phase_layers(layers, datasets, width);
    return {{"width", width}, {"height", look.height}, {"layer", layers}};
  }
  axis.add_phase_layers(layers, datasets, width, false);
  const char* numbers = numbered ? " (per cent: PC0, and all)" : "";
  return {{"title", {{"text", look.title + numbers}, {"fontSize", 15}, {"offset", 6}}},
          {"width", width},
          {"height", look.height},
          {"layer", layers}};
}

}  // namespace ropewalk
