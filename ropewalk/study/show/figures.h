#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/figures/figure.h"
#include "ropewalk/study/experiment/experiment.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

struct DrawOptions {
  std::filesystem::path table;                   // qk.csv, or its folder
  std::optional<std::filesystem::path> summary;  // default: the table's own
  std::filesystem::path out;                     // folder
  std::vector<std::string> formats{"png", "svg", "pdf"};
  FigureOptions figures;
  // Gives what is not asked for above: title, portraits, figures; and, where the table has none,
  // phases.
  std::optional<Experiment> experiment;
};

// All figures of a study's tables: the report shows the same.
std::vector<Figure> study_figures(const StudyTables& tables, const FigureOptions& options,
                                  const std::optional<Experiment>& experiment = {});

// Writes figures: NAME.vl.json and NAME in each format. Returns the files.
std::vector<std::filesystem::path> save_figures(const StudyTables& tables,
                                                const std::vector<Figure>& figures,
                                                const std::filesystem::path& out,
                                                const std::vector<std::string>& formats);

// Reads a table and writes all its figures.
void draw_figures(const DrawOptions& options);

// What draw_figures would draw, one line per figure: its name and title; then the statistics that
// the table has, which figures can be asked for.
std::string list_figures(const DrawOptions& options);

}  // namespace ropewalk
