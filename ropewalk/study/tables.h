#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/changes_table.h"
#include "ropewalk/analysis/head_table.h"
#include "ropewalk/analysis/run_numbers.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// The tables of a study: what analyze makes of captures, or what was read from files. Figures and
// the report are made of them.
struct StudyTables {
  HeadTable heads;  // as their file has them
  Json summary;     // null: none
  std::string summary_source;

  // Errors of means by rotary pair and by distance: from the summary, as the tables have none.
  void take_errors();
  RunNumbers numbers() const { return run_numbers(heads, summary, summary_source); }
};

// The table that a path names: a folder's qk.csv, or the path itself. Throws SystemError where a
// folder holds none.
std::filesystem::path find_table(const std::filesystem::path& path);

// Where a table's page stands: report.html, or NAME.report.html.
std::filesystem::path report_path(const std::filesystem::path& table);

// Where a table's summary stands: summary.json beside qk.csv, NAME.summary.json beside any other
// NAME.csv.
std::filesystem::path summary_path(const std::filesystem::path& table);

// Where the numbers of whole heads stand: heads.csv, or NAME.heads.csv.
std::filesystem::path heads_path(const std::filesystem::path& table);

// Where their changes stand: changes.csv, or NAME.changes.csv.
std::filesystem::path changes_path(const std::filesystem::path& table);

// Where numbers by rotary pair and by distance stand: bands.csv and curves.csv, or
// NAME.bands.csv and NAME.curves.csv.
std::filesystem::path bands_path(const std::filesystem::path& table);
std::filesystem::path curves_path(const std::filesystem::path& table);

// Where the losses of its checkpoints stand, if they were measured: loss.csv, or NAME.loss.csv.
std::filesystem::path loss_path(const std::filesystem::path& table);

// Throws UsageError naming --out where a table cannot be written there: the path is a folder, or
// the name is that of a file which goes with another table.
void check_table_path(const std::filesystem::path& table);

// Makes the tables of checkpoints, in the order of their run, for the file `table`: carries signs
// along the run (carried_signs.h) first. The second one writes it, the numbers of whole heads,
// by rotary pair and by distance, their changes, losses and the summary, all or none.
StudyTables make_tables(std::vector<CheckpointAnalysis>& checkpoints,
                        const std::filesystem::path& table, const ChangeOptions& options = {});
StudyTables write_tables(const std::filesystem::path& table,
                         std::vector<CheckpointAnalysis> checkpoints,
                         const ChangeOptions& options = {});

// Reads a table, or that of a folder, with its heads.csv, bands.csv, curves.csv and loss.csv where
// they are there, and with `summary`, else with its own where it is there. Steps and tokens that it
// does not state are those that labels say (training_time.h). A log line says where errors are
// missing, and why; a warning, which heads are undefined. Throws InputError where a file is not
// what it should be, and where `summary` is given and belongs to another table.
StudyTables read_tables(const std::filesystem::path& given,
                        const std::optional<std::filesystem::path>& summary = {});

}  // namespace ropewalk
