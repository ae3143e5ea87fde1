#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

// A hash table from pairs of ids, which are not negative, to small values. Grows no further than
// the number of pairs it was made for.
template <typename Value>
class PairTable {
 public:
  explicit PairTable(size_t pairs = 0) {
    size_t slots = 2;
    while (slots < 2 * pairs) slots *= 2;  // at most half full
    slots_.resize(slots);
    mask_ = slots - 1;
  }
  // A later value of the same pair replaces an earlier one.
  void set(int32_t left, int32_t right, Value value) {
    const uint64_t key = key_of(left, right);
    size_t at = slot_of(key);
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask_;
    slots_[at] = {key, value};
  }
  // Null where there is none.
  const Value* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> 32) & mask_;
  }

  std::vector<Slot> slots_;  // open addressing
  size_t mask_;
};

// Buffers for `BpeMerges::apply`; one a thread.
struct BpeScratch {
  struct Symbol {
    int32_t id;        // -1 once merged into its left neighbour
    int32_t previous;  // neighbours still there, -1 at the ends
    int32_t next;
  };
  std::vector<int32_t> ids;
  std::vector<Symbol> symbols;
  std::vector<uint64_t> queue;  // candidates: rank, then index of the left symbol
};

// The merges of a byte-pair encoding: which two neighbouring tokens become one, and in which order.
class BpeMerges {
 public:
  struct Rule {
    int32_t left;
    int32_t right;
    int32_t made;
  };
  BpeMerges() : BpeMerges({}, {}) {}
  // Rules by rank; the last of the same pair counts. `symbols` are the ids that a word may consist
  // of before anything is merged.
  BpeMerges(std::span<const Rule> rules, std::span<const int32_t> symbols);

  // Merges `scratch.ids` until nothing merges: always the lowest rank, the leftmost of equals. O(n
  // log n).
  void apply(BpeScratch& scratch) const;

 private:
  struct Merge {
    uint32_t rank;
    int32_t id;  // of the token made
  };

  void find_joints(std::span<const Rule> rules, std::span<const int32_t> symbols);
  size_t merge_few(std::span<int32_t> ids) const;
  size_t merge_many(std::span<int32_t> ids, BpeScratch& scratch) const;

  PairTable<Merge> merges_;
  // Symbols next to each other that some merge joins. Between any other two a word falls into parts
  // that never meet, whatever else merges.
  PairTable<bool> joints_;
  bool joints_known_ = false;
};

}  // namespace ropewalk
