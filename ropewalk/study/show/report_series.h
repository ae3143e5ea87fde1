#pragma once

#include <cstddef>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Most characters that each of bands.csv and curves.csv may add to a page.
inline constexpr size_t kMostSeriesCharacters = size_t{48} << 20;

// Numbers by rotary pair and by distance in the page's format (docs/report.md): the series that the
// table has, packed. Where one of the two files would need more than `most` characters, it is left
// out, and the page says so.
Json report_series(const RunTable& table, size_t most = kMostSeriesCharacters);

// Edges as the page reads them: of the last checkpoints, as many as take no more than so many
// characters, and at least one. Texts stand there once each.
inline constexpr size_t kMostEdgeCharacters = size_t{8} << 20;
Json report_edges(const RunTable& table, size_t most = kMostEdgeCharacters);

}  // namespace ropewalk
