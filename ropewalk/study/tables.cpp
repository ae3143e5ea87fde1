#include "ropewalk/study/tables.h"

#include "ropewalk/analysis/qk_table.h"
#include "ropewalk/analysis/summary.h"
#include "ropewalk/base/atomic_file.h"

namespace ropewalk {
namespace fs = std::filesystem;

fs::path summary_path(const fs::path& table) {
  const std::string name =
      table.filename() == "qk.csv" ? "summary.json" : table.stem().string() + ".summary.json";
  return table.parent_path() / name;
}

void write_tables(const fs::path& table, const std::vector<CheckpointAnalysis>& checkpoints) {
  write_files_atomically({{table, format_qk_table(checkpoints)},
                          {summary_path(table), summarize(checkpoints).dump(2) + "\n"}});
}

}  // namespace ropewalk
