#include "ropewalk/study/tables.h"

#include "ropewalk/analysis/qk_reader.h"
#include "ropewalk/analysis/qk_table.h"
#include "ropewalk/analysis/summary.h"
#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/report_inputs.h"

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

}  // namespace

fs::path summary_path(const fs::path& table) {
  const std::string name =
      table.filename() == "qk.csv" ? "summary.json" : table.stem().string() + ".summary.json";
  return table.parent_path() / name;
}

StudyTables make_tables(const std::vector<CheckpointAnalysis>& checkpoints, const fs::path& table) {
  return {as_written(checkpoints, table.string()), summarize(checkpoints),
          summary_path(table).string()};
}

StudyTables write_tables(const fs::path& table,
                         const std::vector<CheckpointAnalysis>& checkpoints) {
  StudyTables tables = make_tables(checkpoints, table);
  write_files_atomically({{table, format_qk_table(tables.heads.checkpoints)},
                          {summary_path(table), tables.summary.dump(2) + "\n"}});
  return tables;
}

StudyTables read_tables(const fs::path& table, const std::optional<fs::path>& summary) {
  StudyTables tables;
  tables.heads = read_qk_table(table);
  const fs::path beside = summary.value_or(summary_path(table));
  tables.summary_source = beside.string();
  std::error_code ignored;
  const bool absent = !summary && !fs::exists(beside, ignored);
  if (!absent) tables.summary = read_summary(beside);
  RunNumbers run;
  try {
    run = tables.numbers();
  } catch (const InputError& error) {
    if (summary || tables.summary.is_null()) throw;
    tables.summary = Json();
    run = tables.numbers();  // throws where the table itself is at fault
    log::warning("{}; going on without standard errors", error.what());
  }
  if (absent) {
    log::info("no {} beside {}: no standard errors", beside.filename().string(), table.string());
  }
  warn_of_undefined(run);
  return tables;
}

}  // namespace ropewalk
