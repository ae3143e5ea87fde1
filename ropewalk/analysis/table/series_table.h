#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The text of bands.csv, one row per checkpoint, head and rotary pair, or of curves.csv, one row
// per checkpoint, head, curve and point (docs/formats.md). Heads without such numbers have no rows.
// Beside the flags of a head, rows have:
//   no_variance  a number of the pair is undefined, as nothing varies there
//   no_pairs     no two tokens of a document stand so far apart
//   no_se        a number without its standard error
std::string format_series_table(const std::vector<CheckpointTable>& checkpoints, SeriesTable table);

// Its table of columns in docs/formats.md: Markdown, one line per column.
std::string describe_series_columns(SeriesTable table);

}  // namespace ropewalk
