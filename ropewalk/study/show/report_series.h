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

// Edges as the page reads them: of the last checkpoints, as many as take no more than so many
// characters, and at least one. Texts stand there once each.
inline constexpr size_t kMostEdgeCharacters = size_t{8} << 20;
Json report_edges(const RunTable& table, size_t most = kMostEdgeCharacters);

}  // namespace ropewalk
