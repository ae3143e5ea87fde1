#pragma once

#include <vector>

#include "ropewalk/analysis/forecast/forecast_check.h"
#include "ropewalk/study/source/open_model.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Opens a model under a RoPE setting. Throws UsageError or InputError where it cannot have this
// setting.
OpenModel model_under(const OpenModel& model, const RopeSpec& spec, const RopeLengths& lengths);

// Runs documents through a model under each setting. The model must be opened with its head.
// Throws InputError where a loss is not finite.
ForecastLosses measure_setting_losses(const OpenModel& model, const DocumentSet& documents,
                                      const std::vector<RopeSpec>& specs,
                                      const RopeLengths& lengths);

}  // namespace ropewalk
