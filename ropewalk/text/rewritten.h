#pragma once

#include <algorithm>
#include <cstddef>

#include "ropewalk/base/error.h"

namespace ropewalk {

// The longest text a tokenizer works on, in bytes: offsets inside are 32 bits wide.
inline constexpr size_t kLargestText = size_t{1} << 30;

// The steps of a tokenizer may each make text longer, and a file may hold any number of them: forty
// that double it would ask for a terabyte. No step of a real tokenizer does more than a little.
constexpr size_t longest_rewritten(size_t bytes) {
  return std::min(64 * bytes + (size_t{1} << 20), kLargestText);
}

inline void require_rewritten(size_t bytes, size_t longest) {
  if (bytes <= longest) return;
  throw InputError(
      "the tokenizer's steps make a text {} bytes long, more than the {} that its length allows",
      bytes, longest);
}

}  // namespace ropewalk
