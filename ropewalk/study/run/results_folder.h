#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/study/run/study.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kFigures = "figures";

// A file's JSON; null where it is missing or broken: then its maker runs again.
Json read_if_there(const std::filesystem::path& path);

// Refuses a results folder that belongs to another experiment (unless that is to be replaced), and
// one that holds somebody else's files where results would go: an InputError that names them,
// before anything is done. Whether a file is ours is known from `manifest` and from what it holds.
void require_own_folder(const Study& study, const Json& manifest);

// The folder that tables go to, as --out names it. Throws UsageError where it holds anything but
// tables, their page and figures: another's files, or the results of a run; SystemError where a run
// holds it.
std::filesystem::path tables_folder(const std::filesystem::path& given);

// Holds the folder for a run: locks it, and removes what a killed run left under temporary names.
class ResultsFolder {
 public:
  explicit ResultsFolder(const std::filesystem::path& out);

 private:
  FolderLock lock_;
};

}  // namespace ropewalk
