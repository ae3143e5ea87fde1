#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// Remembers the ids of words met before, up to a fixed number of words; then it starts anew. Not
// thread-safe: one a thread.
class WordCache {
 public:
  WordCache();

  // The ids stored for `word`. Valid until the next `store`.
  std::optional<std::span<const int32_t>> find(std::string_view word) const;
  // Words that are long, or known already, are better not stored.
  void store(std::string_view word, std::span<const int32_t> ids);

  static constexpr size_t kLongestWord = 64;  // bytes; longer words hardly come twice

 private:
  struct Entry {
    uint64_t hash = 0;
    uint32_t text = 0;  // offsets into the pools
    uint32_t ids = 0;
    uint16_t text_size = 0;  // 0: a free slot
    uint16_t id_count = 0;
  };
  size_t slot_of(uint64_t hash, std::string_view word) const;

  std::vector<Entry> entries_;  // open addressing, at most half full
  size_t used_ = 0;
  std::string text_;
  std::vector<int32_t> ids_;
};

}  // namespace ropewalk
