#pragma once

#include "ropewalk/analysis/forecast/forecast_check.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

inline constexpr const char* kForecastFigure = "forecast";

// Shows RoPE settings by their score, best first, with disturbance and excursion; below, for every
// setting, the scores of its heads (docs/figures.md). `losses`: what a check
// measured; null: nothing.
Json forecast_figure(const Forecast& forecast, const ForecastLosses* losses);

}  // namespace ropewalk
