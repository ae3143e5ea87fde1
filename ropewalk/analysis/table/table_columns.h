#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// A column of qk.csv or heads.csv: its name, its meaning, and its text in a row (before quoting;
// empty where missing).
struct TableColumn {
  std::string name;
  std::string meaning;
  std::function<std::string(const CheckpointTable&, size_t row)> text;
};

// All columns of a table, in order. For heads.csv, rows are those of PC0.
std::vector<TableColumn> table_columns(Table table = Table::components);

// The column of a statistic's standard error.
std::string error_column(std::string_view key);

// The tables of columns in docs/formats.md, as Markdown with one line per column.
std::string describe_columns(Table table = Table::components);

}  // namespace ropewalk
