#include "ropewalk/base/utf8.h"

#include <cstdint>
#include <cstring>

#include "ropewalk/base/error.h"

namespace ropewalk {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char lead = bytes[0];
  if (lead < 0x80) return 1;
  // The range of the second byte rules out overlong forms, surrogates and numbers that are too
  // large.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || bytes[1] < low || bytes[1] > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((bytes[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::optional<size_t> invalid_utf8_offset(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t i = 0;
  while (i < text.size()) {
    // Most text is ASCII, so it is checked eight bytes at a time.
    uint64_t word = 0;
    if (text.size() - i >= sizeof(word)) {
      std::memcpy(&word, bytes + i, sizeof(word));
      if ((word & 0x8080808080808080) == 0) {
        i += sizeof(word);
        continue;
      }
    }
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

void require_utf8(std::string_view text, std::string_view where) {
  if (const auto offset = invalid_utf8_offset(text)) {
    throw InputError("{}: not valid UTF-8: byte 0x{:02x} at offset {}; convert the file to UTF-8",
                     where, static_cast<unsigned char>(text[*offset]), *offset);
  }
}

std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace ropewalk
