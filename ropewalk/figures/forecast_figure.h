#pragma once

#include "ropewalk/analysis/forecast/forecast_check.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

inline constexpr const char* kForecastFigure = "forecast";

// Shows RoPE settings by their score, best first, with the part of it that is disturbance; below,
// for every setting, the heads that it changes most (docs/figures.md). `losses`: what a check
// measured; null: nothing.
Json forecast_figure(const Forecast& forecast, const ForecastLosses* losses);

}  // namespace ropewalk
