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

// A whole file mapped read-only. Throws SystemError when it cannot be opened or is not a regular
// file. Where the file is cut off later, reading what is gone ends the program with a line that
// names it (interrupt.h).
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  // As it was opened.
  const struct stat& status() const { return status_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)};
  }

  // Throws InputError where the file was written to since it was opened: what was read of it may be
  // a mixture, or zeros past its new end. Removing or replacing it changes nothing.
  void require_unchanged() const;
  // Whether its name still stands for this file, and nobody has written to it.
  bool is_current() const;

  // From now on read() reads past the system's cache of files, into memory that is this process's
  // own until the end of this object; hints are not taken. Before other threads know of the object.
  void read_directly();
  // Null: it is not read so.
  DirectReading* direct() const { return direct_.get(); }

  // Hints to the kernel about [offset, offset + size): read it soon; or drop it from this process's
  // resident memory (it stays in the page cache and is read again if touched).
  void will_need(int64_t offset, int64_t size) const;
  void release(int64_t offset, int64_t size) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  struct stat status_ {};
  std::unique_ptr<DirectReading> direct_;
};

// Whether a file that was `before` is the same one `now`, and nobody has written to it.
bool is_same_content(const struct stat& before, const struct stat& now);

// The file's contents, refusing more than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, int64_t limit);

}  // namespace ropewalk
