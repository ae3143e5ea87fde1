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

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::string beginning(const fs::path& path) {
  constexpr size_t kBytes = 4096;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";  // a pipe would wait for somebody to write
  std::string text(kBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), kBytes);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// What a specification of a figure says first, and a page of ours.
constexpr const char* kVegaLite = "vega-lite";
constexpr const char* kPage = "<title>Ropewalk report</title>";

constexpr std::array kTableFiles{kTable, kHeads, kBands, kCurves, kChanges, kSummary, kReport};

// Whether a file looks as ours does: asked where the manifest, which lists them, is lost.
bool looks_ours(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  if (extension == ".csv") {
    const std::string first = beginning(path);
    return first.starts_with("model,checkpoint,phase,order,") ||
           first.starts_with("model,from,to,kind,layer");
  }
  if (name.ends_with(".vl.json")) {
    const Json spec = read_if_there(path);
    return spec.is_object() && spec.contains("$schema") &&
           spec["$schema"].dump().find(kVegaLite) != std::string::npos;
  }
  if (extension == ".json") {
    const Json json = read_if_there(path);
    return json.is_object() && json.contains("checkpoints");
  }
  if (extension == ".html") return beginning(path).find(kPage) != std::string::npos;
  // A picture is known by its specification.
  fs::path specification = path;
  specification.replace_extension(".vl.json");
  return is_there(specification) && looks_ours(specification);
}

void refuse_foreign(const std::vector<fs::path>& foreign) {
  if (foreign.empty()) return;
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const fs::path& path : foreign) names.push_back(path.string());
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  throw InputError(
      "{}{}: not written by ropewalk, and in the place of results; move {} away, or name another "
      "folder with --out",
      fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
      foreign.size() == 1 ? "it" : "them");
}

// Files that stand where the study would write, and that nobody of ours wrote.
std::vector<fs::path> find_foreign(const Study& study, const Json& manifest) {
  std::set<fs::path> known;
  for (const char* stage : {"tables", "figures", "report"}) {
    const Json record = manifest.is_object() ? manifest.value(stage, Json()) : Json();
    for (const fs::path& file : files_of(record)) known.insert(study.out / file);
  }
  std::vector<fs::path> foreign;
  const auto look_at = [&](const fs::path& path) {
    std::error_code ignored;
    const bool ours =
        !fs::is_directory(path, ignored) && (known.contains(path) || looks_ours(path));
    if (is_there(path) && !ours) foreign.push_back(path);
  };
  for (const char* name : kTableFiles) look_at(study.out / name);
  // A folder that was locked before is a results folder; its manifest may be damaged.
  const fs::path manifest_file = study.out / kManifest;
  std::error_code error;
  const bool used = is_there(study.out / ".lock") && !fs::is_directory(manifest_file, error);
  if (!used) look_at(manifest_file);
  for (const char* folder : {"checkpoints", kFigures, "replaced"}) {
    const fs::path path = study.out / folder;
    if (is_there(path) && !fs::is_directory(path, error)) foreign.push_back(path);
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
    if (!is_there(folder) || empty) continue;
    for (const fs::path& path : foreign_in(folder)) foreign.push_back(path);
  }
  return foreign;
}

// The experiment that a manifest names, where that is another one than the study's.
void refuse_other_experiment(const Study& study, const Json& manifest) {
  if (study.options.replace || !manifest.is_object()) return;
  const Json experiment = manifest.value("experiment", Json());
  if (!experiment.is_object() || !experiment.value("path", Json()).is_string()) return;
  const fs::path theirs = experiment["path"].get<std::string>();
  std::error_code ignored;
  const fs::path mine = fs::absolute(study.experiment.file).lexically_normal();
  if (theirs == mine || fs::equivalent(theirs, mine, ignored)) return;
  const Json name = manifest.value("name", Json());
  // Of one name, they are the same study where the folder was asked for, or the other file was
  // moved or renamed.
  const bool asked_for = study.options.out.has_value();
  if (name == study.experiment.name && (asked_for || !is_there(theirs))) return;
  throw InputError(
      "{}: holds the results of '{}' ({}), not of '{}' ({}); name another folder with --out, or "
      "take this one over with --replace",
      study.out.string(), name.is_string() ? name.get<std::string>() : "?", theirs.string(),
      study.experiment.name, mine.string());
}

}  // namespace

Json read_if_there(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  try {
    return read_json_file(path);
  } catch (const InputError&) {
    return {};
  }
}

void require_own_folder(const Study& study, const Json& manifest) {
  refuse_other_experiment(study, manifest);
  refuse_foreign(find_foreign(study, manifest));
}

fs::path tables_folder(const fs::path& given) {
  std::error_code error;
  fs::path folder = given;
  if (given.empty()) throw UsageError("--out: is empty; name a folder");
  if (folder.extension() == ".csv" && !fs::is_directory(folder, error)) {
    folder.replace_extension();
    log::warning("--out {}: tables go to a folder, and this one is {}", given.string(),
                 folder.string());
  }
  if (is_there(folder) && !fs::is_directory(folder, error)) {
    throw UsageError("--out {}: is not a folder", folder.string());
  }
  refuse_held(folder);
  std::set<std::string> foreign;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool made = std::any_of(kTableFiles.begin(), kTableFiles.end(), [&](const char* file) {
      return name == file && looks_ours(entry.path());
    });
    const bool drawn = name == kFigures && entry.is_directory(error);
    if (!made && !drawn && !name.starts_with('.')) foreign.insert(name);
  }
  if (foreign.empty()) return folder;
  throw UsageError("--out {}: holds {}, which ropewalk analyze did not write; name another folder",
                   folder.string(),
                   printable_excerpt(fmt::format("{}", fmt::join(foreign, ", ")), 200));
}

ResultsFolder::ResultsFolder(const fs::path& out) : lock_(out) {
  std::error_code ignored;
  std::vector<fs::path> folders{out, out / "checkpoints", out / kFigures};
  for (const char* parent : {"checkpoints", "replaced"}) {
    for (const auto& entry : fs::directory_iterator(out / parent, ignored)) {
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        folders.push_back(entry.path());
    }
  }
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (!is_temporary_of(entry.path().filename().string(), lock_.former_token())) continue;
      fs::remove_all(entry.path(), ignored);
    }
  }
  lock_.sign();
}

}  // namespace ropewalk
