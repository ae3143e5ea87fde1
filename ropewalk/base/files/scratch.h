#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace ropewalk {

// Zeroed memory; with a folder, backed by a nameless file there, so that parts not in use can leave
// resident memory. The file's space is taken at once and goes with the object, however the program
// ends. Throws SystemError when memory or disk is short.
class Scratch {
 public:
  Scratch(int64_t size, const std::optional<std::filesystem::path>& folder);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const { return data_; }
  // Gets the memory of [offset, offset + size) from the system now, where it would come when it is
  // written to. Contents stay; others may write meanwhile. Nothing happens with a folder, or where
  // the system cannot.
  void take(int64_t offset, int64_t size) const;
  // Lets the whole pages inside [offset, offset + size) leave memory; their contents stay. Nothing
  // happens without a folder.
  void release(int64_t offset, int64_t size) const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  bool file_ = false;
};

}  // namespace ropewalk
