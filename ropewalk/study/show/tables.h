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

// The tables of a study: the result of analyze, or read from files. Figures and the report are made
// from them.
struct StudyTables {
  RunTable heads;  // rounded like in their files
  Json summary;    // null: there is none
  std::string summary_source;

  // texts of changes.csv and roles.csv until they are written; empty: the tables were read from
  // files, or no head has a role's score
  std::string changes;
  std::string roles;

  // The numbers that figures and comparisons show: computed when first needed, and kept. Throws
  // like run_numbers(). To be used by one thread.
  const RunNumbers& numbers() const;

 private:
  mutable std::optional<RunNumbers> numbers_;
};

// The names of the files in a folder of tables.
inline constexpr const char* kTable = "qk.csv";
inline constexpr const char* kHeads = "heads.csv";
inline constexpr const char* kBands = "bands.csv";
inline constexpr const char* kCurves = "curves.csv";
inline constexpr const char* kChanges = "changes.csv";
inline constexpr const char* kEdgesTable = "edges.csv";
inline constexpr const char* kRolesTable = "roles.csv";
inline constexpr const char* kSummary = "summary.json";

// The table that a path names: a folder's qk.csv, or the path itself. Throws SystemError where a
// folder has none.
std::filesystem::path find_table(const std::filesystem::path& path);

// Makes the tables of checkpoints, which must be in the order of their run; first carries signs
// along the run (carried_signs.h). The second function writes the files to a folder, all or none.
StudyTables make_tables(std::vector<CheckpointTable>& checkpoints,
                        const std::filesystem::path& folder, const ChangeOptions& options = {});
StudyTables write_tables(const std::filesystem::path& folder,
                         std::vector<CheckpointTable> checkpoints,
                         const ChangeOptions& options = {});

// Reads a table. A qk.csv, or a folder that holds one, is read with the other files of its folder;
// any other file alone; with `summary`, if it is given. Steps and tokens that the table does not
// state are taken from labels (training_time.h). A log line says where errors are missing, and why;
// a warning says which heads are undefined. Throws InputError where a file is invalid, and where
// the given `summary` belongs to another table.
StudyTables read_tables(const std::filesystem::path& given,
                        const std::optional<std::filesystem::path>& summary = {});

}  // namespace ropewalk
