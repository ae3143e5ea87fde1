#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace ropewalk {

// Reads parts of a mapped file past the system's cache of files (O_DIRECT), which is the faster way
// for large files that are read once. The memory they are read into takes the place of the file's
// mapping, so that nobody's pointers change. What the cache has already stays the mapping's. Where
// the file system refuses O_DIRECT, parts are read the usual way; what cannot be read at all stays
// the mapping's too, and whoever touches it meets the error. From any thread.
class DirectReading {
 public:
  // Of the file `path`, mapped whole at `mapping`, that `status` was of then. Where another file
  // has taken its name meanwhile, nothing is ever read.
  DirectReading(const std::filesystem::path& path, const struct stat& status,
                const std::byte* mapping);
  ~DirectReading();
  DirectReading(const DirectReading&) = delete;
  DirectReading& operator=(const DirectReading&) = delete;

  // Whether nobody has begun to read some of [offset, offset + size).
  bool missing(int64_t offset, int64_t size) const;
  // Reads that.
  void read(int64_t offset, int64_t size);
  // Until all of it that somebody has begun to read is there.
  void wait(int64_t offset, int64_t size) const;
  // That lie in this process's own memory by now.
  int64_t own_bytes() const { return own_bytes_; }

 private:
  enum class State : uint8_t { unread, reading, done };

  void read_piece(size_t piece);
  bool mostly_cached(int64_t begin, int64_t size) const;
  bool fill(std::byte* memory, int64_t begin, int64_t size) const;

  std::byte* mapping_;
  int64_t size_;
  int64_t piece_;  // bytes that are read at a time
  int direct_ = -1;
  int cached_ = -1;
  std::vector<std::atomic<State>> states_;
  std::atomic<int64_t> own_bytes_ = 0;
};

}  // namespace ropewalk
