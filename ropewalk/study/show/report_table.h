#pragma once

#include <map>
#include <utility>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A table of heads in the page's format (docs/report.md): a cube of checkpoints, heads and
// components; numbers with nine significant digits, packed. Throws InputError where the cube would
// be far larger than the table.
Json report_table(const RunTable& table);

// The index on the page of each head, given by layer and query head: the heads of all checkpoints
// together.
std::map<std::pair<int64_t, int64_t>, size_t> head_indexes(const RunTable& table);

// The list of statistics for the page: the meaning and the colours of its columns.
Json report_statistics();

// The meanings of the flags of heads.csv, by name.
Json report_flags();
// The roles of heads, and the scores and thresholds by which they are named.
Json report_roles();

// The page's name for a hue, and for a limit of values; null: no limit.
enum class Hue;
const char* hue_name(Hue hue);
Json limit_or_null(double value);

}  // namespace ropewalk
