#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace ropewalk {

// Zeroed memory. With a folder, a nameless file there backs it, so that parts that are not in use
// can leave resident memory. The file's space is allocated at once and freed with the object,
// however the program ends. Throws SystemError where memory or disk is short.
class Scratch {
 public:
  Scratch(int64_t size, const std::optional<std::filesystem::path>& folder);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const { return data_; }
  // Gets the memory of [offset, offset + size) from the system now instead of at the first write.
  // Contents stay, and other threads may write meanwhile. Has no effect with a folder, or where the
  // system does not support it.
  void take(int64_t offset, int64_t size) const;
  // Lets the whole pages inside [offset, offset + size) leave memory; their contents stay. Has no
  // effect without a folder.
  void release(int64_t offset, int64_t size) const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  bool file_ = false;
};

}  // namespace ropewalk
