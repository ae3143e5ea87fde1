#include "ropewalk/study/show/tables_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;

fs::path tables_folder(const fs::path& given) {
  std::error_code error;
  fs::path folder = given;
  if (given.empty()) throw UsageError("--out: is empty; name a folder");
  if (folder.extension() == ".csv" && !fs::is_directory(folder, error)) {
    folder.replace_extension();
    log::warning("--out {}: expected a folder for tables, but this one is {}", given.string(),
                 folder.string());
  }
  if (path_exists(folder) && !fs::is_directory(folder, error)) {
    throw UsageError("--out {}: is not a folder", folder.string());
  }
  require_unlocked(folder);
  std::set<std::string> foreign;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool made = std::any_of(kTableFiles.begin(), kTableFiles.end(), [&](const char* file) {
      return name == file && looks_like_a_result(entry.path());
    });
    const bool drawn = name == kFigures && entry.is_directory(error);
    if (!made && !drawn && !name.starts_with('.')) foreign.insert(name);
  }
  if (foreign.empty()) return folder;
  throw UsageError("--out {}: holds {}, which ropewalk analyze did not write; name another folder",
                   folder.string(),
                   printable_excerpt(fmt::format("{}", fmt::join(foreign, ", ")), 200));
}

}  // namespace ropewalk
