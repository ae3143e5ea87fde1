#include "ropewalk/figures/parts/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/parts/text_width.h"

namespace ropewalk::theme {
namespace {

constexpr double kSymbolRoom = 50;  // the line and the space that a name in a legend needs
constexpr std::string_view kFont = "Liberation Sans, Arial, Helvetica, sans-serif";

using Rgb = std::array<double, 3>;  // each 0–255

Rgb parse_color(std::string_view hex) {
  Rgb rgb{};
  for (size_t i = 0; i < 3; ++i) {
    int value = 0;
    std::from_chars(hex.data() + 1 + 2 * i, hex.data() + 3 + 2 * i, value, 16);
    rgb[i] = value;
  }
  return rgb;
}

// WCAG 2: relative luminance of an sRGB colour.
double luminance(std::string_view hex) {
  const Rgb rgb = parse_color(hex);
  Rgb linear{};
  for (size_t i = 0; i < 3; ++i) {
    const double c = rgb[i] / 255;
    linear[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

double contrast(double a, double b) { return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05); }

Json config() {
  return {
      {"font", kFont},
      {"background", kWhite},
      {"padding", 12},
      {"view", {{"stroke", nullptr}}},
      {"title",
       {{"anchor", "start"},
        {"frame", "group"},
        {"fontSize", kTitleSize},
        {"fontWeight", "bold"},
        {"color", kInk},
        {"subtitleFontSize", kSubtitleSize},
        {"subtitleColor", kMutedInk},
        {"subtitlePadding", 6},
        {"subtitleLineHeight", kSubtitleSize + 4},
        {"offset", 14}}},
      {"axis",
       {{"labelFontSize", kLabelSize},
        {"labelColor", kInk},
        {"titleFontSize", kLabelSize},
        {"titleFontWeight", "normal"},
        {"titleColor", kInk},
        {"titlePadding", 10},
        {"labelPadding", 6},
        {"domainColor", kSeparator},
        {"tickColor", kSeparator},
        {"tickSize", 4},
        {"gridColor", kGrid}}},
      {"legend",
       {{"labelFontSize", kLabelSize},
        {"labelColor", kInk},
        {"labelLimit", 400},
        {"titleFontSize", kLabelSize},
        {"titleFontWeight", "normal"},
        {"titleColor", kInk},
        {"symbolSize", 110},
        {"columnPadding", 16},
        {"layout", {{"top", {{"anchor", "start"}, {"margin", 24}}}}}}},
      {"text", {{"fontSize", kLabelSize}, {"color", kInk}}},
  };
}

}  // namespace

std::string_view class_color(HeadClass head_class) {
  switch (head_class) {
    case HeadClass::position_dominated:
      return "#2f74b5";  // blue
    case HeadClass::q_positional:
      return "#33257a";  // indigo
    case HeadClass::k_positional:
      return "#f29bc1";  // pink
    case HeadClass::content_focused:
      return "#3fa36c";  // green
    case HeadClass::mixed:
      return "#c9ced4";  // grey
  }
  return kInk;
}

const ColorRamp kBlues{"#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6",
                       "#4292c6", "#2171b5", "#08519c", "#08306b"};
const ColorRamp kReds{"#fff5f0", "#fee0d2", "#fcbba1", "#fc9272", "#fb6a4a",
                      "#ef3b2c", "#cb181d", "#a50f15", "#67000d"};
const ColorRamp kPurples{"#fcfbfd", "#efedf5", "#dadaeb", "#bcbddc", "#9e9ac8",
                         "#807dba", "#6a51a3", "#54278f", "#3f007d"};

std::string_view hue_color(Hue hue) {
  return hue == Hue::queries ? kQueries : hue == Hue::keys ? kKeys : kBoth;
}

const ColorRamp& hue_ramp(Hue hue) {
  return hue == Hue::queries ? kBlues : hue == Hue::keys ? kReds : kPurples;
}

const NegativeRamp& negative_ramp(Hue hue) {
  static const NegativeRamp kOranges{"orange",
                                     {"#fde3c8", "#fdd5ae", "#fdc38d", "#fdae6b", "#f68d3c",
                                      "#e6701b", "#c9550a", "#a03f06", "#6b2a05"}};
  static const NegativeRamp kTeals{"teal",
                                   {"#d3eeee", "#bce3e3", "#9fd5d6", "#7cc4c6", "#55acb0",
                                    "#339297", "#1d777d", "#0e5c62", "#063f45"}};
  return hue == Hue::keys ? kTeals : kOranges;
}

std::string mixed_color(std::string_view from, std::string_view to, double part) {
  const Rgb start = parse_color(from), end = parse_color(to);
  std::string hex = "#";
  for (size_t i = 0; i < 3; ++i) {
    hex +=
        fmt::format("{:02x}", static_cast<int>(std::lround(start[i] + part * (end[i] - start[i]))));
  }
  return hex;
}

std::string ramp_color(const ColorRamp& ramp, double value) {
  const double position = std::clamp(value, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const size_t below = std::min(static_cast<size_t>(position), ramp.size() - 2);
  return mixed_color(ramp[below], ramp[below + 1], position - static_cast<double>(below));
}

std::string_view text_color_on(std::string_view background) {
  const double ground = luminance(background);
  const bool dark = contrast(ground, luminance(kInk)) >= contrast(ground, luminance(kWhite));
  return dark ? kInk : kWhite;
}

Json begin_figure(const std::string& run_title, std::string_view title, const std::string& subtitle,
                  double width) {
  std::string full(title);
  if (!run_title.empty()) {
    // Where room is short, the run's name is cut; the figure's own title is kept.
    const double room = width - text_width(" · " + full, kTitleSize * 1.08);
    const double least = text_width("Name…", kTitleSize * 1.08);
    if (room > least) full = fit_text(printable(run_title), kTitleSize * 1.08, room) + " · " + full;
  }
  const auto lines = wrap_text(subtitle, kSubtitleSize, width, 4);
  return {
      {"$schema", kSchema}, {"config", config()}, {"title", {{"text", full}, {"subtitle", lines}}}};
}

std::string title(const std::string& text) {
  static const std::set<std::string_view> inherited{
      "constructor",      "hasOwnProperty",   "isPrototypeOf",    "propertyIsEnumerable",
      "toLocaleString",   "toString",         "valueOf",          "__proto__",
      "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"};
  return inherited.contains(text) ? text + " " : text;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string decimals(double value, int digits) { return format_decimals(value, digits); }

double legend_columns(const std::vector<std::string>& names, double room) {
  double widest = 0;
  for (const std::string& name : names) {
    widest = std::max(widest, text_width(printable(name), kLabelSize));
  }
  return std::max(1.0, std::floor(room / (widest + kSymbolRoom)));
}

}  // namespace ropewalk::theme
