#pragma once

#include <filesystem>
#include <string>

namespace ropewalk {

// Holds a folder, which is made where it is missing, for this process: sign() says so in its file.
// Throws SystemError naming the process that holds it already; the lock of a process that died is
// free.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // The token (atomic_file.h) of the process that held the folder before; empty where there was
  // none. What that one left under temporary names can be removed.
  const std::string& previous_token() const { return previous_token_; }
  // Notes this process as the holder, which ends the former one's claim.
  void sign() const;

 private:
  int file_ = -1;
  int process_ = 0;  // that holds it, and not one that it forked
  std::string previous_token_;
};

// Throws as FolderLock does where a process holds the folder.
void require_unlocked(const std::filesystem::path& folder);

}  // namespace ropewalk
