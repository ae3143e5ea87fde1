#include "ropewalk/study/show/tables.h"

#include <fmt/ranges.h>

#include <functional>

#include "ropewalk/analysis/run/carried_signs.h"
#include "ropewalk/analysis/run/single_distances.h"
#include "ropewalk/analysis/run/summary.h"
#include "ropewalk/analysis/table/edges_reader.h"
#include "ropewalk/analysis/table/edges_table.h"
#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/loss_reader.h"
#include "ropewalk/analysis/table/loss_table.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "ropewalk/analysis/table/series_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/capture/loss.h"
#include "ropewalk/study/experiment/training_time.h"
#include "ropewalk/study/show/report_inputs.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void warn_of_undefined(const RunNumbers& run) {
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (numbers.undefined == 0 && !numbers.heads.empty()) continue;
      log::warning("{}: checkpoint '{}' has {} with r_q and r_k on PC0, {} without", run.source,
                   printable_excerpt(numbers.label, 60),
                   format_number_of(static_cast<int64_t>(numbers.heads.size()), "head"),
                   numbers.undefined);
    }
  }
}

constexpr const char* kMakers = "ropewalk run and ropewalk analyze write one";

// Called before a file is read as a table.
void require_table(const fs::path& table) {
  std::error_code error;
  if (!fs::exists(table, error) && !error) {
    throw SystemError("{}: this table does not exist; {}", table.string(), kMakers);
  }
}

// Reads a file of a folder of tables; an invalid file is left out.
template <typename Read>
void read_or_leave_out(const fs::path& path, const Read& read) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  if (!fs::is_regular_file(path, ignored)) {
    log::warning("{}: is {}, not a table; continuing without it", path.string(),
                 fs::is_directory(path, ignored) ? "a folder" : "no file");
    return;
  }
  try {
    read(path);
  } catch (const InputError& error) {
    log::warning("{}; continuing without it", error.what());
  }
}

void read_others(RunTable& heads, const fs::path& folder) {
  read_or_leave_out(folder / kHeads, [&](const fs::path& path) { read_heads_table(heads, path); });
  read_or_leave_out(folder / kBands, [&](const fs::path& path) {
    read_series_table(heads, SeriesTable::bands, path);
  });
  read_or_leave_out(folder / kCurves, [&](const fs::path& path) {
    read_series_table(heads, SeriesTable::curves, path);
  });
  read_or_leave_out(folder / kLossTable,
                    [&](const fs::path& path) { read_loss_table(heads, path); });
  read_or_leave_out(folder / kEdgesTable,
                    [&](const fs::path& path) { read_edges_table(heads, path); });
}

// A loss.csv that is left over from another table of the same checkpoints must not be shown with
// this one.
void leave_out_foreign_losses(StudyTables& tables, const fs::path& path) {
  if (tables.summary.is_null() || has_losses_of(tables.summary, tables.heads)) return;
  log::warning(
      "{}: its losses are not those of {}, so it belongs to another table; continuing without it",
      path.string(), tables.summary_source);
  for (CheckpointTable& checkpoint : tables.heads.checkpoints) checkpoint.loss.clear();
}

void warn_of_other_series(const StudyTables& tables) {
  const std::string& label = tables.numbers().other_series;
  if (label.empty()) return;
  log::warning(
      "{}: its means by rotary pair or by distance of '{}' differ from bands.csv and curves.csv in "
      "the folder of {}: one of these files is incomplete or belongs to another run; continuing "
      "without their standard errors",
      tables.summary_source, label, tables.heads.source);
}

}  // namespace

fs::path find_table(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  if (fs::exists(path / kTable, error)) return path / kTable;
  throw SystemError("{}: is a folder without qk.csv; {}", path.string(), kMakers);
}

const RunNumbers& StudyTables::numbers() const {
  if (!numbers_) numbers_ = run_numbers(heads, summary, summary_source);
  return *numbers_;
}

StudyTables make_tables(std::vector<CheckpointTable>& checkpoints, const fs::path& folder,
                        const ChangeOptions& options) {
  const std::vector<std::string> single = leave_out_single_distances(checkpoints);
  if (!single.empty()) {
    log::warning(
        "{}: found logits at single distances, as an earlier version took them, beside others over "
        "windows; their curves, dist_r and dist_content are left out; name 'lags: true' in the "
        "experiment, or capture again, to have them",
        fmt::join(single, ", "));
  }
  carry_signs(checkpoints);
  StudyTables tables;
  tables.summary_source = (folder / kSummary).string();
  RunSummary made;
  const std::vector<std::function<void()>> parts{
      [&] { tables.heads = rounded_to_file(checkpoints, (folder / kTable).string()); },
      [&] { made = summarize(checkpoints, options); }};
  run_parallel(parts.size(), [&](size_t i) { parts[i](); });
  tables.summary = std::move(made.summary);
  tables.changes = std::move(made.changes);
  tables.roles = std::move(made.roles);
  return tables;
}

StudyTables write_tables(const fs::path& folder, std::vector<CheckpointTable> checkpoints,
                         const ChangeOptions& options) {
  StudyTables tables = make_tables(checkpoints, folder, options);
  const std::vector<CheckpointTable>& written = tables.heads.checkpoints;
  using Format = std::function<std::string()>;
  std::vector<std::pair<const char*, Format>> files{
      {kTable, [&] { return format_qk_table(written); }},
      {kHeads, [&] { return format_heads_table(written); }},
      {kBands, [&] { return format_series_table(written, SeriesTable::bands); }},
      {kCurves, [&] { return format_series_table(written, SeriesTable::curves); }},
      {kChanges, [&] { return std::move(tables.changes); }},
      {kSummary, [&] { return tables.summary.dump(2) + "\n"; }}};
  const std::vector<CheckpointLoss> losses = losses_of(written);
  if (!losses.empty()) {
    files.emplace_back(kLossTable, [&] { return format_loss_table(losses); });
  }
  if (have_edges(written)) {
    files.emplace_back(kEdgesTable, [&] { return format_edges_table(written); });
  }
  const bool roles = !tables.roles.empty();
  if (roles) files.emplace_back(kRolesTable, [&] { return tables.roles; });
  std::vector<FileText> texts(files.size());
  run_parallel(files.size(), [&](size_t i) {
    texts[i] = {folder / files[i].first, files[i].second()};
  });
  write_files_atomically(texts);
  // Those that stayed from other checkpoints must not pass for these ones'.
  for (const auto& [name, made] :
       {std::pair(kEdgesTable, have_edges(written)), {kRolesTable, roles}}) {
    std::error_code ignored;
    if (!made && looks_like_a_result(folder / name)) fs::remove(folder / name, ignored);
  }
  return tables;
}

StudyTables read_tables(const fs::path& given, const std::optional<fs::path>& summary) {
  const fs::path table = find_table(given);
  require_table(table);
  StudyTables tables;
  tables.heads = read_qk_table(table);
  for (CheckpointTable& checkpoint : tables.heads.checkpoints) fill_training_time(checkpoint);
  const bool alone = table.filename() != kTable;
  if (!alone) read_others(tables.heads, table.parent_path());
  const fs::path path = summary.value_or(table.parent_path() / kSummary);
  tables.summary_source = path.string();
  std::error_code ignored;
  const bool absent = !summary && (alone || !fs::exists(path, ignored));
  if (!absent) tables.summary = read_summary(path);
  leave_out_foreign_losses(tables, table.parent_path() / kLossTable);
  try {
    tables.numbers();
  } catch (const InputError& error) {
    if (summary || tables.summary.is_null()) throw;
    tables.summary = Json();
    tables.numbers();  // throws where the table itself is invalid
    log::warning("{}; continuing without standard errors", error.what());
  }
  warn_of_other_series(tables);
  if (absent) {
    log::info("{}: has no standard errors; these are in a {} in the folder of a {}", table.string(),
              kSummary, kTable);
  }
  warn_of_undefined(tables.numbers());
  return tables;
}

}  // namespace ropewalk
