#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace ropewalk {

class DirectReading;

// A whole file, mapped read-only. Throws SystemError where it cannot be opened or is not a regular
// file. If the file is truncated later, reading the missing part ends the program with a line that
// names the file (interrupt.h).
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  // The file's status when it was opened.
  const struct stat& status() const { return status_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)};
  }

  // Throws InputError where the file was written to since it was opened: the bytes that were read
  // may be a mixture of old and new, or zeros past the new end. Removing or replacing the file is
  // harmless.
  void require_unchanged() const;
  // Whether its name still stands for this file and nobody has written to it.
  bool is_current() const;

  // Makes read() go around the page cache from now on, into memory that this process owns until the
  // end of this object; hints have no effect then. Call it before other threads know of the object.
  void read_directly();
  // Null unless read_directly() was called.
  DirectReading* direct() const { return direct_.get(); }

  // Hints to the kernel about [offset, offset + size): it will be read soon; or it may leave this
  // process's resident memory (it stays in the page cache and is read again when touched).
  void will_need(int64_t offset, int64_t size) const;
  void release(int64_t offset, int64_t size) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  struct stat status_ {};
  std::unique_ptr<DirectReading> direct_;
};

// Whether `now` is the status of the file that had the status `before`, and nobody has written to
// it.
bool is_same_content(const struct stat& before, const struct stat& now);

// Reads a file's contents; throws where they exceed `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, int64_t limit);

}  // namespace ropewalk
