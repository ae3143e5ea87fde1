#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "ropewalk/base/files/content_hash.h"

namespace ropewalk {

class MappedFile;

// Hashes of the tensors in one file of weights. Each is computed once, by whoever reads the tensor
// first. Between runs they are remembered in the user's cache folder, and believed as long as the
// file's size, times and inode are what they were, as git does with its index. A file that was
// written moments ago is not remembered, as a second write might leave the same times, nor is one
// that lies in memory (tmpfs).
class TensorHashes {
 public:
  explicit TensorHashes(const MappedFile& file);
  ~TensorHashes();
  TensorHashes(const TensorHashes&) = delete;
  TensorHashes& operator=(const TensorHashes&) = delete;

  // From any thread.
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

// Where they are remembered: $ROPEWALK_CACHE, else ropewalk/ in the user's cache folder; empty
// where there is none.
std::filesystem::path hash_memory();

}  // namespace ropewalk
