#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk::theme {

// Shared by all figures. Sizes are pixels at scale 1: a figure fills the width of a page, and is
// still readable at half that width, in one column.
inline constexpr std::string_view kSchema = "https://vega.github.io/schema/vega-lite/v6.json";
inline constexpr double kPlotWidth = 660;
inline constexpr double kTitleSize = 19;
inline constexpr double kSubtitleSize = 14;
inline constexpr double kLabelSize = 14;
inline constexpr double kPhaseSize = 13.5;

inline constexpr std::string_view kInk = "#1b1f24";
inline constexpr std::string_view kMutedInk = "#57606a";
inline constexpr std::string_view kSeparator = "#8b949e";
inline constexpr std::string_view kGrid = "#e4e7eb";
inline constexpr std::string_view kEmptyCell = "#eceef0";
inline constexpr std::string_view kWhite = "#ffffff";

// Queries are blue, keys red. They also differ in lightness, so that grey prints and colour-blind
// readers can tell them apart; so do the classes of heads.
inline constexpr std::string_view kQueries = "#17498f";
inline constexpr std::string_view kKeys = "#e0503f";
inline constexpr std::string_view kBoth = "#5b3f91";

std::string_view hue_color(Hue hue);

std::string_view class_color(HeadClass head_class);

// ColorBrewer's Blues, Reds and Purples, from 0 to 1.
using ColorRamp = std::array<std::string_view, 9>;
extern const ColorRamp kBlues;
extern const ColorRamp kReds;
extern const ColorRamp kPurples;
const ColorRamp& hue_ramp(Hue hue);

// Colours for negative numbers next to such a ramp: equally dark at equal size, but with another
// hue, also for colour-blind readers, and never white.
struct NegativeRamp {
  std::string_view name;  // name of its hue
  ColorRamp colors;
};
const NegativeRamp& negative_ramp(Hue hue);

// A mixture of two colours "#rrggbb", computed like the renderer does.
std::string mixed_color(std::string_view from, std::string_view to, double part);

// The colour at `value` (clamped to 0–1), interpolated like the renderer does; "#rrggbb".
std::string ramp_color(const ColorRamp& ramp, double value);

// Black or white, whichever contrasts more with the background "#rrggbb" (WCAG 2 contrast ratio).
std::string_view text_color_on(std::string_view background);

// A specification with schema, theme, title and subtitle; the caller adds the rest. Texts are
// fitted to `width`, the width of the drawing.
Json begin_figure(const std::string& run_title, std::string_view title, const std::string& subtitle,
                  double width);

// A number for a specification: null where it is NaN.
Json number(double value);

// A title that comes from users. Vega looks titles up among the properties of an object, where
// "constructor" finds something that every object has; a space at its end avoids that.
std::string title(const std::string& text);

// Numbers in texts are formatted here, because d3 uses other characters for signs.
std::string decimals(double value, int digits);

// How many of these names fit side by side in a legend of lines `room` pixels wide; more would
// widen the figure.
double legend_columns(const std::vector<std::string>& names, double room);

}  // namespace ropewalk::theme
