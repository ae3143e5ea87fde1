#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The flag of all rows of a checkpoint with fresh weights.
inline constexpr const char* kRandomWeights = "random_weights";
inline constexpr const char* kNotMeasured = "not_measured";

// Most bytes of a label, a model's name or a phase.
inline constexpr size_t kLongestName = 1000;

// How numbers are written: 9 significant digits.
inline constexpr const char* kTableNumber = "{:.9g}";

// A name as tables hold it, and back. A name that a spreadsheet would evaluate as a formula (it
// starts with =, +, -, @, a tab or a carriage return) gets an apostrophe in front, and so does a
// name that already has this form.
std::string escape_name(const std::string& name);
std::string unescape_name(const std::string& field);

// The escaped name as a field of a CSV file, quoted where it would break the row.
std::string csv_name(const std::string& name);

// A number or a count as tables hold it: empty where missing.
std::string table_number(double value);
std::string table_count(int64_t value);

// The text of qk.csv, one row per checkpoint, head and component; columns in docs/formats.md.
// Missing numbers are empty.
std::string format_qk_table(const std::vector<CheckpointTable>& checkpoints);

// The text of heads.csv, one row per checkpoint and head.
std::string format_heads_table(const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
