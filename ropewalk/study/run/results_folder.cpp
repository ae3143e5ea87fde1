#include "ropewalk/study/run/results_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/study/capture/capture_files.h"
#include "ropewalk/study/capture/stage.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void refuse_foreign(const std::vector<fs::path>& foreign) {
  if (foreign.empty()) return;
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const fs::path& path : foreign) names.push_back(path.string());
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  throw InputError(
      "{}{}: not written by ropewalk, but has the name of a result; move {} away, or name another "
      "folder with --out",
      fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
      foreign.size() == 1 ? "it" : "them");
}

// Files at paths that the study would write, and that were not written by us.
std::vector<fs::path> find_foreign(const Study& study, const Json& manifest) {
  std::set<fs::path> known;
  for (const char* stage : {"tables", "figures", "probes", "report"}) {
    const Json record = manifest.is_object() ? manifest.value(stage, Json()) : Json();
    for (const fs::path& file : files_of(record)) known.insert(study.out / file);
  }
  std::vector<fs::path> foreign;
  const auto look_at = [&](const fs::path& path) {
    std::error_code ignored;
    const bool ours =
        !fs::is_directory(path, ignored) && (known.contains(path) || looks_like_a_result(path));
    if (path_exists(path) && !ours) foreign.push_back(path);
  };
  for (const char* name : kTableFiles) look_at(study.out / name);
  if (study.experiment.probes) look_at(study.out / kProbesFile);
  // A folder that was locked before is a results folder, even if its manifest is damaged.
  const fs::path manifest_file = study.out / kManifest;
  std::error_code error;
  const bool used = path_exists(study.out / ".lock") && !fs::is_directory(manifest_file, error);
  if (!used) look_at(manifest_file);
  for (const char* folder : {"checkpoints", kFigures, "probes", "replaced"}) {
    const fs::path path = study.out / folder;
    if (path_exists(path) && !fs::is_directory(path, error)) foreign.push_back(path);
  }
  for (const std::string& name : figure_names(study.experiment.figures)) {
    for (const char* ending : {".vl.json", ".png", ".svg", ".pdf"}) {
      look_at(study.out / kFigures / (name + ending));
    }
  }
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    const fs::path& folder = planned.capture.out;
    std::error_code ignored;
    const bool empty = fs::is_directory(folder, ignored) && fs::is_empty(folder, ignored);
    if (!path_exists(folder) || empty) continue;
    for (const fs::path& path : foreign_files_in(folder)) foreign.push_back(path);
  }
  return foreign;
}

// Throws where the manifest belongs to another experiment than the study's.
void refuse_other_experiment(const Study& study, const Json& manifest) {
  if (study.options.replace || !manifest.is_object()) return;
  const Json experiment = manifest.value("experiment", Json());
  if (!experiment.is_object() || !experiment.value("path", Json()).is_string()) return;
  const fs::path theirs = experiment["path"].get<std::string>();
  std::error_code ignored;
  const fs::path mine = fs::absolute(study.experiment.file).lexically_normal();
  if (theirs == mine || fs::equivalent(theirs, mine, ignored)) return;
  const Json name = manifest.value("name", Json());
  // Experiments with the same name are the same study where the user named the folder, or where the
  // other file was moved or renamed.
  const bool asked_for = study.options.out.has_value();
  if (name == study.experiment.name && (asked_for || !path_exists(theirs))) return;
  throw InputError(
      "{}: holds the results of '{}' ({}), not of '{}' ({}); name another folder with --out, or "
      "replace these results with --replace",
      study.out.string(), name.is_string() ? name.get<std::string>() : "?", theirs.string(),
      study.experiment.name, mine.string());
}

}  // namespace

void require_own_folder(const Study& study, const Json& manifest) {
  refuse_other_experiment(study, manifest);
  refuse_foreign(find_foreign(study, manifest));
}

ResultsFolder::ResultsFolder(const fs::path& out) : lock_(out) {
  std::error_code ignored;
  std::vector<fs::path> folders{out, out / "checkpoints", out / "probes", out / kFigures};
  for (const char* parent : {"checkpoints", "probes", "replaced"}) {
    for (const auto& entry : fs::directory_iterator(out / parent, ignored)) {
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        folders.push_back(entry.path());
    }
  }
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (!is_temporary_of(entry.path().filename().string(), lock_.previous_token())) continue;
      fs::remove_all(entry.path(), ignored);
    }
  }
  lock_.sign();
}

}  // namespace ropewalk
