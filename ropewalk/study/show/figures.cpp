#include "ropewalk/study/show/figures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/render.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/figures/training_lines.h"
#include "ropewalk/study/experiment/training_time.h"

namespace ropewalk {
namespace {

constexpr std::string_view kTitleGap = " · ";  // between the names of the run and of the figure

void apply_experiment(const Experiment& experiment, RunNumbers& run, FigureOptions& figures) {
  if (figures.title.empty()) figures.title = experiment.name;
  struct CheckpointTime {
    std::string phase;
    TrainingTime time;
  };
  std::map<std::string, CheckpointTime> said;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      for (const std::string& label : phase.labels_of(entry)) {
        said[label] = {phase.name, training_time(entry)};
      }
    }
  }
  for (CheckpointNumbers& numbers : run.checkpoints) {
    const auto found = said.find(numbers.label);
    if (found == said.end()) continue;
    if (numbers.phase.empty()) numbers.phase = found->second.phase;
    const TrainingTime& time = found->second.time;
    numbers.step = time.step.value_or(numbers.step);
    numbers.tokens = time.tokens.value_or(numbers.tokens);
  }
  if (figures.asked.empty()) figures.asked = experiment.figures;
  if (!figures.axis) figures.axis = experiment.axis;
  if (!figures.portraits.empty()) return;
  for (const std::string& label : experiment.portraits) {
    for (const CheckpointNumbers& numbers : run.checkpoints) {
      const bool meant = numbers.label == label || split_label(numbers.label).name == label;
      if (meant) figures.portraits.push_back(numbers.label);
    }
  }
}

// Warns of statistics that are requested and that the table lacks.
void warn_of_missing(const RunNumbers& run, const RequestedFigures& asked) {
  std::set<std::string> said;
  for (const std::string& key : requested_keys(asked)) {
    const size_t view = find_view(key);
    if (has_numbers(run, view) || !said.insert(key).second) continue;
    const bool of_heads_table = all_views()[view].statistic->table == Table::heads;
    log::warning(
        "{}: has no {} for heads with r_q and r_k, so its figure is not drawn{}", run.source, key,
        of_heads_table ? "; it is a column of heads.csv, which analyze writes to the table's folder"
                       : "");
  }
}

// Adds the figure of the requested heads; says which of them the tables lack.
void add_heads(std::vector<Figure>& figures, const StudyTables& tables, const RunNumbers& run,
               FigureOptions options) {
  std::vector<QueryHead> there;
  for (const QueryHead& head : options.asked.distance) {
    if (has_distances(tables.heads, head)) {
      if (std::find(there.begin(), there.end(), head) == there.end()) there.push_back(head);
      continue;
    }
    const std::string name = head_name(head);
    if (has_head(tables.heads, head)) {
      log::warning(
          "{}: has no logits by distance for head {}, so its figure is not drawn; they are in "
          "curves.csv, which analyze writes to the table's folder",
          run.source, name);
    } else {
      log::warning("{}: has no head {}, so its figure is not drawn", run.source, name);
    }
  }
  if (there.empty()) return;
  options.asked.distance = there;
  if (options.title.empty()) options.title = run.model;
  figures.push_back({kHeadDistance, head_distance_figure(tables.heads, run, options)});
}

// Called before anything is drawn: a missing head is a typing error.
void require_heads(const RunTable& table, const std::vector<QueryHead>& heads) {
  for (const QueryHead& head : heads) {
    if (has_head(table, head)) continue;
    int64_t layers = 0, last = 0;
    for (const CheckpointTable& checkpoint : table.checkpoints) {
      for (const int64_t layer : checkpoint.layer) layers = std::max(layers, layer);
      for (const int64_t one : checkpoint.q_head) last = std::max(last, one);
    }
    throw UsageError("--distance: {} has no head {}; its layers go up to {}, its query heads to {}",
                     table.source, head_name(head), layers, last);
  }
}

// Says which figures in a folder are older: they were not drawn this time, and show other tables.
void warn_of_older(const std::filesystem::path& folder,
                   const std::vector<std::filesystem::path>& drawn) {
  std::set<std::string> older;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path path = entry.path();
    if (std::find(drawn.begin(), drawn.end(), path) != drawn.end()) continue;
    std::string name = path.filename().string();
    name.resize(std::min(name.size(), name.find('.')));
    // Only our figures have a specification.
    if (std::filesystem::exists(folder / (name + ".vl.json"), ignored)) {
      older.insert(path.filename().string());
    }
  }
  if (older.empty()) return;
  log::warning("{}: also holds {} that were drawn earlier; remove the ones you do not want",
               folder.string(), fmt::join(older, ", "));
}

}  // namespace

std::vector<Figure> study_figures(const StudyTables& tables, const FigureOptions& options,
                                  const std::optional<Experiment>& experiment) {
  RunNumbers run = tables.numbers();
  FigureOptions wanted = options;
  if (experiment) apply_experiment(*experiment, run, wanted);
  for (const std::string& name : missing_figures(run)) {
    log::info("{}: has no {} for heads with r_q and r_k, so its figure is not drawn", run.source,
              name);
  }
  warn_of_missing(run, wanted.asked);
  std::vector<Figure> figures = make_figures(run, wanted);
  add_heads(figures, tables, run, wanted);
  return figures;
}

std::vector<std::filesystem::path> save_figures(const StudyTables& tables,
                                                const std::vector<Figure>& figures,
                                                const std::filesystem::path& out,
                                                const std::vector<std::string>& formats) {
  write_figures(figures, out, formats);
  const std::vector<CheckpointTable>& checkpoints = tables.heads.checkpoints;
  const auto steps = std::count_if(checkpoints.begin(), checkpoints.end(),
                                   [](const CheckpointTable& c) { return !c.random; });
  const bool models = !checkpoints.empty() && checkpoints.front().independent_model;
  log::info("{}: {} of {}", out.string(),
            format_number_of(static_cast<int64_t>(figures.size()), "figure"),
            format_number_of(steps, models ? "model" : "checkpoint"));
  std::vector<std::filesystem::path> files;
  for (const Figure& figure : figures) {
    files.push_back(out / (figure.name + ".vl.json"));
    for (const std::string& format : formats) files.push_back(out / (figure.name + "." + format));
  }
  return files;
}

std::string list_figures(const DrawOptions& options) {
  const StudyTables tables = read_tables(options.table, options.summary);
  require_heads(tables.heads, options.figures.asked.distance);
  std::string text;
  for (const Figure& figure : study_figures(tables, options.figures, options.experiment)) {
    // The title without the run's name.
    const std::string title = figure.spec.at("title").at("text").get<std::string>();
    const size_t end = title.rfind(kTitleGap);
    text += fmt::format("{:<24}  {}\n", figure.name,
                        end == title.npos ? title : title.substr(end + kTitleGap.size()));
  }
  std::vector<std::string> keys;
  const RunNumbers& run = tables.numbers();
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    if (has_numbers(run, i)) keys.push_back(views[i].view->key);
  }
  return text + fmt::format("\n--statistic, --portrait: {}\n", fmt::join(keys, ", "));
}

void draw_figures(const DrawOptions& options) {
  const StudyTables tables = read_tables(options.table, options.summary);
  require_heads(tables.heads, options.figures.asked.distance);
  warn_of_older(options.out,
                save_figures(tables, study_figures(tables, options.figures, options.experiment),
                             options.out, options.formats));
}

}  // namespace ropewalk
