#pragma once

#include <cstddef>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Characters that bands.csv or curves.csv may add to a page, each.
inline constexpr size_t kMostSeriesCharacters = size_t{48} << 20;

// Numbers by rotary pair and by distance as the report's page reads them (docs/report.md): of the
// series that the table has, packed. One of the two files that would take more than `most`
// characters is left out, and the page says so.
Json report_series(const RunTable& table, size_t most = kMostSeriesCharacters);

}  // namespace ropewalk
