#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk {

// All reading and writing of UTF-8: untrusted text is checked, and text that is known to be
// well-formed is read fast.

// The number of bytes of the well-formed sequence at the front of `text` (Unicode 3.9, table 3-7:
// no overlong form, no surrogate, nothing above U+10FFFF); 0 where there is none.
size_t utf8_length(std::string_view text);

// The offset of the first byte that does not belong to well-formed UTF-8, or nothing where there is
// none.
std::optional<size_t> invalid_utf8_offset(std::string_view text);

// Throws InputError naming `where` and the byte offset unless `text` is well-formed.
void require_utf8(std::string_view text, std::string_view where);

// Drops a byte order mark from the front.
std::string_view without_bom(std::string_view text);

// Maps A–Z to a–z; other letters stay.
std::string lower_case(std::string_view text);

// The functions below need text that is known to be well-formed.

inline size_t utf8_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

// Returns the code point at `at` and moves `at` past it.
inline char32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const size_t size = utf8_size(text[at]);
  char32_t result = byte(0);
  if (size == 2) {
    result = (result & 0x1F) << 6 | (byte(1) & 0x3F);
  } else if (size == 3) {
    result = (result & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  } else if (size == 4) {
    result =
        (result & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  at += size;
  return result;
}

}  // namespace ropewalk
