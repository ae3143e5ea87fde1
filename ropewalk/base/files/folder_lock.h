#pragma once

#include <filesystem>
#include <string>

namespace ropewalk {

// Locks a folder for this process, and creates the folder where it is missing. sign() writes the
// owner into the lock file. Throws SystemError naming the process that holds the lock; the lock of
// a process that died is free.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // The token (atomic_file.h) of the process that held the folder before; empty where there was
  // none. Temporary files with that token can be removed.
  const std::string& previous_token() const { return previous_token_; }
  // Writes this process into the lock file, in place of the former owner.
  void sign() const;

 private:
  int file_ = -1;
  int process_ = 0;  // the process that took the lock, as opposed to one that it forked
  std::string previous_token_;
};

// Throws the same error as FolderLock where a process holds the folder.
void require_unlocked(const std::filesystem::path& folder);

}  // namespace ropewalk
