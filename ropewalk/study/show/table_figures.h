#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

// A table that lies in a folder of results or alone, and its figures.
struct TableFigures {
  StudyTables tables;
  Json manifest;      // null: none of it lies beside the table
  std::string title;  // of the manifest; empty: none
  std::vector<Figure> figures;
};

// Reads a table with what lies beside it, and makes the figures that its manifest asks for, and
// `more`. Throws InputError where the manifest is none, and as read_tables and make_figures do.
TableFigures table_figures(const std::filesystem::path& table, const AskedFigures& more = {});

}  // namespace ropewalk
