#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// Refuses a results folder that belongs to another experiment (unless that is to be replaced), and
// one that holds somebody else's files where results would go: an InputError that names them,
// before anything is done. Whether a file is ours is known from `manifest` and from what it holds.
void require_own_folder(const Study& study, const Json& manifest);

// Holds the folder for a run: locks it, and removes what a killed run left under temporary names.
class ResultsFolder {
 public:
  explicit ResultsFolder(const std::filesystem::path& out);

 private:
  FolderLock lock_;
};

}  // namespace ropewalk
