#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Adds the numbers of a bands.csv or a curves.csv to the table of its qk.csv, and their means over
// heads, without errors. Takes the columns and curves it knows. Throws InputError naming file, line
// and column, also where a row is of a head that the table lacks, or points do not follow each
// other.
void read_series_table(RunTable& heads, SeriesTable table, const std::filesystem::path& path);

// The same from the file's text.
void parse_series_table(RunTable& heads, SeriesTable table, std::string_view text,
                        const std::string& source);

}  // namespace ropewalk
