#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/base/files/hash.h"

namespace ropewalk {

// Where a blob's bytes are gathered until all have arrived: ETAG.incomplete.
std::filesystem::path incomplete_name(const std::filesystem::path& blob);

// That file, with the hash of what it holds. Throws SystemError where it cannot be written, or is
// something else than a plain file: a link is not followed.
class PartialFile {
 public:
  // `etag` is the SHA-256 of `size` bytes, or git's hash of them.
  PartialFile(std::filesystem::path blob, std::string etag, int64_t size);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  int64_t size() const { return size_; }
  // Reads what an earlier download left.
  void read_back();
  // Forgets all bytes.
  void restart();
  void append(std::string_view part);
  // Of all bytes, as `etag` would be; ends the computation.
  std::string hash();
  // Gives the bytes their name, and notes that they were downloaded by this program.
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
