#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

// A table, in a results folder or alone, and its figures.
struct TableFigures {
  StudyTables tables;
  Json manifest;      // null: the table's folder has no manifest that belongs to it
  std::string title;  // title in the manifest; empty: none
  std::vector<Figure> figures;
};

// Reads a table with the files next to it, and makes the figures that its manifest requests, and
// `more`. Throws InputError where the manifest is invalid, and what read_tables and make_figures
// throw.
TableFigures table_figures(const std::filesystem::path& table, const RequestedFigures& more = {});

}  // namespace ropewalk
