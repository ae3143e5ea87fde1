#pragma once

#include <map>
#include <utility>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A table of heads as the report's page reads it (docs/report.md): a cube of checkpoints, heads and
// components, numbers with nine significant digits, packed. Throws InputError where the cube would
// be far larger than the table.
Json report_table(const RunTable& table);

// Where each head, by layer and query head, stands on the page: those of all checkpoints.
std::map<std::pair<int64_t, int64_t>, size_t> head_indexes(const RunTable& table);

// The list of statistics, for the page: what its columns mean and how they are coloured.
Json report_statistics();

// What the flags of heads.csv mean, by name.
Json report_flags();

// How the page names a hue, and a limit of values; null: none.
enum class Hue;
const char* hue_name(Hue hue);
Json limit_or_null(double value);

}  // namespace ropewalk
