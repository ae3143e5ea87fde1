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
  std::filesystem::path table;                   // qk.csv, or the folder that holds it
  std::optional<std::filesystem::path> summary;  // default: the summary.json of the table's folder
  std::filesystem::path out;                     // folder
  std::vector<std::string> formats{"png", "svg", "pdf"};
  FigureOptions figures;
  // Gives defaults for title, portraits and figures; and phases, where the table has none.
  std::optional<Experiment> experiment;
};

// All figures of a study's tables; the report shows the same ones.
std::vector<Figure> study_figures(const StudyTables& tables, const FigureOptions& options,
                                  const std::optional<Experiment>& experiment = {});

// Writes figures: NAME.vl.json and NAME in each format. Returns the files.
std::vector<std::filesystem::path> save_figures(const StudyTables& tables,
                                                const std::vector<Figure>& figures,
                                                const std::filesystem::path& out,
                                                const std::vector<std::string>& formats);

// Reads a table and writes all its figures.
void draw_figures(const DrawOptions& options);

// What draw_figures would draw: one line per figure with its name and title; then the table's
// statistics for which figures can be requested.
std::string list_figures(const DrawOptions& options);

}  // namespace ropewalk
