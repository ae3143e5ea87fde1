#include "ropewalk/study/show/table_figures.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/study/capture/stage.h"
#include "ropewalk/study/show/figures.h"
#include "ropewalk/study/show/report_inputs.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Whether a manifest contains this table's hash; the name of the table may differ.
bool has_hash_of(const Json& manifest, const fs::path& table) {
  const Json files = recorded_files(manifest.value("tables", Json()));
  const auto stated = files.find(table.filename().string());
  return stated == files.end() || *stated == Json(sha256_file(table));
}

// Null where the file is missing, or where it belongs to another table.
Json read_manifest(const fs::path& path, const fs::path& table) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  Json json = read_json_file(path);
  check_manifest(json, path.string());
  if (has_hash_of(json, table)) return json;
  log::warning("{}: belongs to another {}, by the hash that it states; it is ignored",
               path.string(), table.filename().string());
  return {};
}

// The axis of the run, if this version knows it and the table has its numbers; else empty.
std::optional<TimeAxis> axis_of(const Json& manifest, const StudyTables& tables) {
  const Json name = manifest.at("settings").value("axis", Json());
  if (name.is_null()) return {};
  const auto known = std::find(kTimeAxes.begin(), kTimeAxes.end(), name.get<std::string>());
  if (known == kTimeAxes.end()) return {};
  std::vector<TimedLabel> run;
  for (const CheckpointNumbers& numbers : tables.numbers().checkpoints) {
    run.push_back({numbers.label, numbers.step, numbers.tokens});
  }
  const TimeAxis axis = time_axis(*known);
  if (!time_problem(run, axis).empty()) return {};
  return axis;
}

// The options in the manifest, so that the figures are those of the run.
FigureOptions figure_options(const Json& manifest, const StudyTables& tables) {
  const RunTable& table = tables.heads;
  FigureOptions options;
  if (manifest.is_null()) return options;
  options.title = manifest.at("name").get<std::string>();
  options.axis = axis_of(manifest, tables);
  for (const Json& portrait : manifest.at("settings").value("portraits", Json::array())) {
    const auto there = std::any_of(
        table.checkpoints.begin(), table.checkpoints.end(),
        [&](const CheckpointTable& checkpoint) { return portrait == checkpoint.label; });
    if (there) options.portraits.push_back(portrait.get<std::string>());
  }
  // Statistics of another version that this one does not know are left out.
  const auto known = [](const Json& key) {
    return unknown_statistic_error(key.get<std::string>()).empty();
  };
  const Json figures = manifest.at("settings").value("figures", Json());
  if (figures.is_null()) return options;
  for (const Json& key : figures.value("statistics", Json::array())) {
    if (known(key)) options.asked.statistics.push_back(key.get<std::string>());
  }
  for (const Json& pair : figures.value("portraits", Json::array())) {
    if (!known(pair[0]) || !known(pair[1])) continue;
    options.asked.portraits.push_back(pair.get<PortraitPair>());
  }
  for (const Json& name : figures.value("distance", Json::array())) {
    const auto head = find_head(name.get<std::string>());
    if (head && has_distances(table, *head)) options.asked.distance.push_back(*head);
  }
  return options;
}

template <typename T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

}  // namespace

TableFigures table_figures(const fs::path& table, const RequestedFigures& more) {
  for (const std::string& key : requested_keys(more)) {
    const std::string problem = unknown_statistic_error(key);
    if (!problem.empty()) throw UsageError("{}", problem);
  }
  TableFigures made;
  made.tables = read_tables(table);
  made.manifest = read_manifest(table.parent_path() / "manifest.json", table);
  FigureOptions options = figure_options(made.manifest, made.tables);
  made.title = options.title;
  append(options.asked.statistics, more.statistics);
  append(options.asked.portraits, more.portraits);
  append(options.asked.distance, more.distance);
  made.figures = study_figures(made.tables, options);
  return made;
}

}  // namespace ropewalk
