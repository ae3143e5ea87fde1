#include "ropewalk/study/figures.h"

#include <algorithm>
#include <map>
#include <set>

#include "ropewalk/analysis/context_label.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/over_training.h"
#include "ropewalk/figures/reading_look.h"
#include "ropewalk/figures/render.h"

namespace ropewalk {
namespace {

void apply_experiment(const Experiment& experiment, RunNumbers& run, FigureOptions& figures) {
  if (figures.title.empty()) figures.title = experiment.name;
  std::map<std::string, std::string> phases;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      for (const std::string& label : phase.labels_of(entry)) phases[label] = phase.name;
    }
  }
  for (CheckpointNumbers& numbers : run.checkpoints) {
    const auto phase = phases.find(numbers.label);
    if (numbers.phase.empty() && phase != phases.end()) numbers.phase = phase->second;
  }
  if (figures.asked.empty()) figures.asked = experiment.figures;
  if (!figures.portraits.empty()) return;
  for (const std::string& label : experiment.portraits) {
    for (const CheckpointNumbers& numbers : run.checkpoints) {
      const bool meant = numbers.label == label || split_label(numbers.label).name == label;
      if (meant) figures.portraits.push_back(numbers.label);
    }
  }
}

// Of statistics that are asked for and that the table does not have.
void warn_of_missing(const RunNumbers& run, const AskedFigures& asked) {
  std::set<std::string> said;
  for (const std::string& key : asked_keys(asked)) {
    const size_t reading = find_reading(key);
    if (has_numbers(run, reading) || !said.insert(key).second) continue;
    const bool beside = all_readings()[reading].statistic->table == Table::heads;
    log::warning(
        "{}: has no {} of heads that count, so no figure of it{}", run.source, key,
        beside ? "; it is a column of heads.csv, which analyze writes beside the table" : "");
  }
}

}  // namespace

std::vector<Figure> study_figures(const StudyTables& tables, const FigureOptions& options,
                                  const std::optional<Experiment>& experiment) {
  RunNumbers run = tables.numbers();
  FigureOptions wanted = options;
  if (experiment) apply_experiment(*experiment, run, wanted);
  for (const std::string& name : missing_figures(run)) {
    log::info("{}: no {} of heads that count, so no figure of it", run.source, name);
  }
  warn_of_missing(run, wanted.asked);
  return make_figures(run, wanted);
}

std::vector<std::filesystem::path> save_figures(const StudyTables& tables,
                                                const std::vector<Figure>& figures,
                                                const std::filesystem::path& out,
                                                const std::vector<std::string>& formats) {
  write_figures(figures, out, formats);
  const auto steps = std::count_if(tables.heads.checkpoints.begin(), tables.heads.checkpoints.end(),
                                   [](const CheckpointAnalysis& c) { return !c.random; });
  log::info("{}: {} of {}", out.string(),
            format_number_of(static_cast<int64_t>(figures.size()), "figure"),
            format_number_of(steps, "checkpoint"));
  std::vector<std::filesystem::path> files;
  for (const Figure& figure : figures) {
    files.push_back(out / (figure.name + ".vl.json"));
    for (const std::string& format : formats) files.push_back(out / (figure.name + "." + format));
  }
  return files;
}

void draw_figures(const DrawOptions& options) {
  const StudyTables tables = read_tables(options.table, options.summary);
  save_figures(tables, study_figures(tables, options.figures, options.experiment), options.out,
               options.formats);
}

}  // namespace ropewalk
