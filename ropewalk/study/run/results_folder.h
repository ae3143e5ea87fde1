#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// Refuses a results folder that belongs to another experiment (unless it is to be replaced), and
// one that has other people's files where results would be written: an InputError names them before
// anything is done. Our own files are recognised by `manifest` and by their contents.
void require_own_folder(const Study& study, const Json& manifest);

// Holds the folder during a run: locks it, and removes temporary files that a killed run left.
class ResultsFolder {
 public:
  explicit ResultsFolder(const std::filesystem::path& out);

 private:
  FolderLock lock_;
};

}  // namespace ropewalk
