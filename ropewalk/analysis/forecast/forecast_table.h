#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/forecast/forecast_check.h"

namespace ropewalk {

inline constexpr const char* kForecastTable = "forecast.csv";
inline constexpr const char* kForecastLosses = "forecast_loss.csv";
inline constexpr const char* kForecastDocuments = "forecast_documents.csv";
inline constexpr const char* kForecastCheck = "forecast_check.csv";

// The text of forecast.csv (docs/formats.md): per setting a row without a layer, then a row per
// setting and head.
std::string format_forecast(const Forecast& forecast);

// The texts of a check: the loss of every setting, over all positions and by bin; the loss of
// every setting on every document; and how the forecast ranks these losses.
std::string format_forecast_losses(const Forecast& forecast, const ForecastLosses& losses);
std::string format_forecast_documents(const Forecast& forecast, const ForecastLosses& losses);
std::string format_forecast_check(const Forecast& forecast, const std::vector<RankCheck>& checks);

}  // namespace ropewalk
