#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run_numbers.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/study/experiment.h"

namespace ropewalk {

// The numbers of a qk.csv with the standard errors of a summary.json: `summary`, else the table's
// own (tables.h) where it is there. A log line says where errors are missing, and why. Throws
// InputError where `summary` is given and belongs to another table.
RunNumbers read_run(const std::filesystem::path& table,
                    const std::optional<std::filesystem::path>& summary);

struct DrawOptions {
  std::filesystem::path table;                   // qk.csv
  std::optional<std::filesystem::path> summary;  // default: the table's own
  std::filesystem::path out;                     // folder
  std::vector<std::string> formats{"png", "svg", "pdf"};
  FigureOptions figures;
  // Gives title, portraits and, where the table has none, phases.
  std::optional<Experiment> experiment;
};

// Writes all figures of a table: NAME.vl.json and NAME in each format. Returns the files.
std::vector<std::filesystem::path> draw_figures(const DrawOptions& options);

}  // namespace ropewalk
