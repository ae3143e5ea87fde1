#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/head_table.h"

namespace ropewalk {

// A column of qk.csv: its name, what it means, and its text in a row (before quoting; empty where
// missing).
struct TableColumn {
  std::string name;
  std::string meaning;
  std::function<std::string(const CheckpointAnalysis&, size_t row)> text;
};

// All columns, in order.
std::vector<TableColumn> table_columns();

// The column of a statistic's standard error.
std::string error_column(std::string_view key);

// The table of columns in docs/formats.md: Markdown, one line per column.
std::string describe_columns();

}  // namespace ropewalk
