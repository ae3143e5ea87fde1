#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace ropewalk {

// Reads parts of a mapped file around the system's page cache (O_DIRECT), which is faster for large
// files that are read once. The new memory replaces the mapping at the same addresses, so that
// pointers stay valid. Parts that the page cache holds already keep their mapping. Where the file
// system refuses O_DIRECT, parts are read in the usual way; a part that cannot be read keeps its
// mapping, and whoever touches it meets the error. All functions may be called from any thread.
class DirectReading {
 public:
  // `path` is mapped whole at `mapping`, and `status` describes the file that was mapped. Where
  // another file has taken the name since, nothing is read.
  DirectReading(const std::filesystem::path& path, const struct stat& status,
                const std::byte* mapping);
  ~DirectReading();
  DirectReading(const DirectReading&) = delete;
  DirectReading& operator=(const DirectReading&) = delete;

  // Whether any byte of [offset, offset + size) has not been requested by any thread yet.
  bool has_unrequested_bytes(int64_t offset, int64_t size) const;
  // Reads [offset, offset + size).
  void read(int64_t offset, int64_t size);
  // Waits until everything in [offset, offset + size) that has been requested is there.
  void wait(int64_t offset, int64_t size) const;
  // The number of bytes that lie in this process's own memory by now.
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
