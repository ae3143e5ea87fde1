#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/text/code_point_set.h"

namespace ropewalk {

// The coarsest division of all code points into classes such that each given set is a union of
// classes: code points of one class are alike to whoever only asks about these sets. Looking one up
// takes two loads, however many ranges the sets have.
class CodePointPartition {
 public:
  // Throws std::length_error where more than 256 classes would be needed.
  explicit CodePointPartition(std::span<const CodePointSet> sets);

  uint8_t class_of(char32_t code_point) const {
    return pages_[page_of_[code_point >> 8] * size_t{256} + (code_point & 0xFF)];
  }
  int classes() const { return static_cast<int>(members_.size()); }
  // Whether code points of a class belong to the set that was given as number `set`.
  bool is_member(int class_index, size_t set) const {
    return members_[static_cast<size_t>(class_index)][set];
  }

 private:
  std::vector<std::vector<bool>> members_;  // [class][set]
  std::vector<uint16_t> page_of_;           // [code point / 256]
  std::vector<uint8_t> pages_;              // pages of 256 classes each, equal pages stored once
};

}  // namespace ropewalk
