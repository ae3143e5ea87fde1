#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ropewalk {

// The merges of a byte-pair encoding: which two neighbouring tokens become one, and in which order.
class BpeMerges {
 public:
  struct Merge {
    uint32_t rank;  // lower ranks go first
    int32_t id;     // of the token made
  };

  // Makes room for `count` merges.
  explicit BpeMerges(size_t count = 0);
  // A later merge of the same pair replaces an earlier one. Ids are not negative.
  void add(int32_t left, int32_t right, Merge merge);
  // Null where the pair does not merge.
  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> 32) & mask_;
  }

  std::vector<Slot> slots_;  // open addressing, at most half full
  size_t mask_;
};

// Buffers for `merge_all`; one a thread.
struct BpeScratch {
  struct Symbol {
    int32_t id;
    int32_t previous;  // neighbours still alive, -1 at the ends
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t position;  // of the left symbol
    int32_t id;         // of the token it would make
  };
  std::vector<int32_t> ids;
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
};

// Merges `scratch.ids` in place until nothing merges: always the lowest rank, the leftmost of
// equals. O(n log n) in the number of ids.
void merge_all(const BpeMerges& merges, BpeScratch& scratch);

}  // namespace ropewalk
