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

// Numbers of whole heads as the page reads them: base64 of little-endian float32, or of its upper
// three (float24) or two bytes (bfloat16), rounded, under the name of the kind. NaN: missing.
enum class FloatKind { float32, float24, bfloat16 };
Json pack_floats(const std::vector<double>& values, FloatKind kind);

// Nine significant digits of each number and where their decimal point stands, both as base64:
// value = digits / 10^decimals, digits little-endian int32, decimals int8. NaN: kMissingDigits.
Json pack_numbers(const std::vector<double>& values);

inline constexpr int32_t kMissingDigits = INT32_MIN;    // the table has no number there
inline constexpr int32_t kNoRowDigits = INT32_MIN + 1;  // the table has no row there

}  // namespace ropewalk
