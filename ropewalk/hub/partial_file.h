#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/base/files/hash.h"

namespace ropewalk {

// The path of the file that collects a blob's bytes until all have arrived: ETAG.incomplete.
std::filesystem::path partial_file_path(const std::filesystem::path& blob);

// An incomplete blob, with the hash of its bytes so far. Throws SystemError where the file cannot
// be written or is not a regular file; links are not followed.
class PartialFile {
 public:
  // `etag` is the SHA-256 of `size` bytes, or git's hash of them.
  PartialFile(std::filesystem::path blob, std::string etag, int64_t size);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  int64_t size() const { return size_; }
  // Reads and hashes the bytes of an earlier download.
  void read_back();
  // Drops all bytes.
  void restart();
  void append(std::string_view part);
  // The hash of all bytes, of the kind that `etag` has; ends the computation.
  std::string hash();
  // Renames the file to the blob, and notes that this program downloaded it.
  void commit();

 private:
  void start_hash();
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path blob_;
  std::filesystem::path path_;
  std::string etag_;
  int64_t expected_;
  std::optional<Digest> digest_;
  int file_ = -1;
  int64_t size_ = 0;
};

}  // namespace ropewalk
