#include "ropewalk/analysis/table/qk_table.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "ropewalk/analysis/table/table_columns.h"

namespace ropewalk {
namespace {

// Whether a spreadsheet would evaluate the text as a formula; leading apostrophes are ignored.
bool reads_as_formula(std::string_view text) {
  const size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

// Adds the text, in quotes where it would otherwise break the row.
void add_field(std::string& row, const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    row += text;
    return;
  }
  row += '"';
  for (const char c : text) {
    if (c == '"') row += '"';
    row += c;
  }
  row += '"';
}

}  // namespace

std::string escape_name(const std::string& name) {
  return reads_as_formula(name) ? '\'' + name : name;
}

std::string csv_name(const std::string& name) {
  std::string field;
  add_field(field, escape_name(name));
  return field;
}

std::string table_number(double value) {
  return std::isnan(value) ? "" : fmt::format(kTableNumber, value);
}

std::string table_count(int64_t value) {
  return value == CheckpointTable::kUnknown ? "" : fmt::format("{}", value);
}

std::string unescape_name(const std::string& field) {
  return field.starts_with('\'') && reads_as_formula(field) ? field.substr(1) : field;
}

namespace {

std::string format_table(const std::vector<CheckpointTable>& checkpoints, Table table) {
  const std::vector<TableColumn> columns = table_columns(table);
  std::string text;
  const auto add_row = [&](const auto& field) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      add_field(text, field(columns[i]));
    }
    text += '\n';
  };
  add_row([](const TableColumn& column) { return column.name; });
  for (const CheckpointTable& checkpoint : checkpoints) {
    for (size_t row = 0; row < checkpoint.rows(); ++row) {
      if (table == Table::heads && checkpoint.pc[row] != 0) continue;
      add_row([&](const TableColumn& column) { return column.text(checkpoint, row); });
    }
  }
  return text;
}

}  // namespace

std::string format_qk_table(const std::vector<CheckpointTable>& checkpoints) {
  return format_table(checkpoints, Table::components);
}

std::string format_heads_table(const std::vector<CheckpointTable>& checkpoints) {
  return format_table(checkpoints, Table::heads);
}

}  // namespace ropewalk
