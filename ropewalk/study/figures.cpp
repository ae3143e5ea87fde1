#include "ropewalk/study/figures.h"

#include <map>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/render.h"
#include "ropewalk/study/report_inputs.h"
#include "ropewalk/study/tables.h"

namespace ropewalk {
namespace fs = std::filesystem;

RunNumbers read_run(const fs::path& table_path, const std::optional<fs::path>& summary) {
  const QkTable table = read_qk_table(table_path);
  RunNumbers run;
  if (summary) {
    run = run_numbers(table, read_summary(*summary), summary->string());
  } else {
    const fs::path beside = summary_path(table_path);
    std::error_code ignored;
    if (fs::exists(beside, ignored)) {
      try {
        run = run_numbers(table, read_summary(beside), beside.string());
      } catch (const InputError& error) {
        run = run_numbers(table);  // throws where the table itself is at fault
        log::warning("{}; going on without standard errors", error.what());
      }
    } else {
      log::info("no {} beside {}: no standard errors", beside.filename().string(),
                table_path.string());
      run = run_numbers(table);
    }
  }
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (numbers.undefined > 0 || numbers.heads.empty()) {
        log::warning("{}: checkpoint '{}' has {} with r_q and r_k on PC0, {} without", run.source,
                     printable_excerpt(numbers.label, 60),
                     format_number_of(static_cast<int64_t>(numbers.heads.size()), "head"),
                     numbers.undefined);
      }
    }
  }
  return run;
}

namespace {

void apply_experiment(const Experiment& experiment, RunNumbers& run, FigureOptions& figures) {
  if (figures.title.empty()) figures.title = experiment.name;
  std::map<std::string, std::string> phases;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) phases[entry.label] = phase.name;
  }
  std::set<std::string> present;
  for (CheckpointNumbers& numbers : run.checkpoints) {
    present.insert(numbers.label);
    const auto phase = phases.find(numbers.label);
    if (numbers.phase.empty() && phase != phases.end()) numbers.phase = phase->second;
  }
  if (!figures.portraits.empty()) return;
  for (const std::string& label : experiment.portraits) {
    if (present.contains(label)) figures.portraits.push_back(label);
  }
}

}  // namespace

std::vector<fs::path> draw_figures(const DrawOptions& options) {
  RunNumbers run = read_run(options.table, options.summary);
  FigureOptions wanted = options.figures;
  if (options.experiment) apply_experiment(*options.experiment, run, wanted);
  const std::vector<Figure> figures = make_figures(run, wanted);
  if (figures.size() < kFigureCount) {
    log::info("{}: no explained_variance of heads that count, so no figure of it", run.source);
  }
  write_figures(figures, options.out, options.formats);
  log::info("{}: {} of {}", options.out.string(),
            format_number_of(static_cast<int64_t>(figures.size()), "figure"),
            format_number_of(static_cast<int64_t>(run.checkpoints.size()), "checkpoint"));
  std::vector<fs::path> files;
  for (const Figure& figure : figures) {
    files.push_back(options.out / (figure.name + ".vl.json"));
    for (const std::string& format : options.formats) {
      files.push_back(options.out / (figure.name + "." + format));
    }
  }
  return files;
}

}  // namespace ropewalk
