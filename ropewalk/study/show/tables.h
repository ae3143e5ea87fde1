#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run/changes_table.h"
#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The tables of a study: what analyze makes of captures, or what was read from files. Figures and
// the report are made of them.
struct StudyTables {
  RunTable heads;  // as their file has them
  Json summary;    // null: none
  std::string summary_source;

  std::string changes;  // changes.csv, until it is written; empty: the tables were read

  // What figures and comparisons show of them: computed when first asked for, and kept. Throws as
  // run_numbers does. Of one thread.
  const RunNumbers& numbers() const;

 private:
  mutable std::optional<RunNumbers> numbers_;
};

// The files of a folder of tables.
inline constexpr const char* kTable = "qk.csv";
inline constexpr const char* kHeads = "heads.csv";
inline constexpr const char* kBands = "bands.csv";
inline constexpr const char* kCurves = "curves.csv";
inline constexpr const char* kChanges = "changes.csv";
inline constexpr const char* kEdgesTable = "edges.csv";
inline constexpr const char* kSummary = "summary.json";

// The table that a path names: a folder's qk.csv, or the path itself. Throws SystemError where a
// folder holds none.
std::filesystem::path find_table(const std::filesystem::path& path);

// Makes the tables of checkpoints, in the order of their run, for a folder: carries signs along the
// run (carried_signs.h) first. The second one writes its files, all or none.
StudyTables make_tables(std::vector<CheckpointTable>& checkpoints,
                        const std::filesystem::path& folder, const ChangeOptions& options = {});
StudyTables write_tables(const std::filesystem::path& folder,
                         std::vector<CheckpointTable> checkpoints,
                         const ChangeOptions& options = {});

// Reads a table, or that of a folder: a qk.csv with the files of its folder that are there, any
// other alone; with `summary`, where it is given. Steps and tokens that it does not
// state are those that labels say (training_time.h). A log line says where errors are missing, and
// why; a warning, which heads are undefined. Throws InputError where a file is not what it should
// be, and where `summary` is given and belongs to another table.
StudyTables read_tables(const std::filesystem::path& given,
                        const std::optional<std::filesystem::path>& summary = {});

}  // namespace ropewalk
