#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "ropewalk/base/files/content_hash.h"

namespace ropewalk {

class MappedFile;

// Hashes of the tensors in one file of weights. Whoever reads a tensor first computes its hash.
// Between runs hashes are kept in the user's cache folder, and trusted while the file's size, times
// and inode stay the same, as git does with its index. A file that was written moments ago is not
// remembered, because a second write might leave the same times; neither is a file in memory
// (tmpfs).
class TensorHashes {
 public:
  explicit TensorHashes(const MappedFile& file);
  ~TensorHashes();
  TensorHashes(const TensorHashes&) = delete;
  TensorHashes& operator=(const TensorHashes&) = delete;

  // May be called from any thread.
  std::optional<ContentHash> find(const std::string& tensor) const;
  void add(const std::string& tensor, const ContentHash& hash);

 private:
  void recall();
  void remember() const;

  const MappedFile& file_;
  int64_t opened_;  // seconds since 1970
  mutable std::mutex mutex_;
  std::map<std::string, ContentHash> hashes_;
  bool changed_ = false;
};

// The folder of remembered hashes: $ROPEWALK_CACHE, else ropewalk/ in the user's cache folder;
// empty where there is none.
std::filesystem::path hash_memory();

}  // namespace ropewalk
