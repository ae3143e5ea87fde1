#include "ropewalk/study/figures.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/figures/render.h"

namespace ropewalk {
namespace fs = std::filesystem;

RunNumbers read_run(const fs::path& table_path, const std::optional<fs::path>& summary) {
  const QkTable table = read_qk_table(table_path);
  RunNumbers run;
  if (summary) {
    run = run_numbers(table, read_json_file(*summary), summary->string());
  } else {
    const fs::path beside = table_path.parent_path() / "summary.json";
    std::error_code ignored;
    if (fs::exists(beside, ignored)) {
      try {
        run = run_numbers(table, read_json_file(beside), beside.string());
      } catch (const InputError& error) {
        log::warning("{}; going on without standard errors", error.what());
        run = run_numbers(table);
      }
    } else {
      log::info("no summary.json beside {}: no standard errors", table_path.string());
      run = run_numbers(table);
    }
  }
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (numbers.undefined > 0 || numbers.heads.empty()) {
        log::warning("{}: checkpoint '{}' has {} heads with r_q and r_k on PC0, {} without",
                     run.source, numbers.label, numbers.heads.size(), numbers.undefined);
      }
    }
  }
  return run;
}

void draw_figures(const DrawOptions& options) {
  const RunNumbers run = read_run(options.table, options.summary);
  const std::vector<Figure> figures = make_figures(run, options.figures);
  if (figures.size() < kFigureCount) {
    log::info("{}: no explained_variance, so no figure of it", run.source);
  }
  write_figures(figures, options.out, options.formats);
  log::info("{}: {} figures of {} checkpoint{}", options.out.string(), figures.size(),
            run.checkpoints.size(), run.checkpoints.size() == 1 ? "" : "s");
}

}  // namespace ropewalk
