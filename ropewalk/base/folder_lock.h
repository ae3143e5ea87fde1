#pragma once

#include <filesystem>

namespace ropewalk {

// Holds a folder, which is made where it is missing, for this process. Throws SystemError naming
// the process that holds it already; the lock of a process that died is free.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace ropewalk
