#include "ropewalk/base/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace ropewalk {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// The code point at the start of `text`. Refuses overlong forms, surrogates and values past
// U+10FFFF.
CodePoint decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  uint32_t value = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[bytes] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
    return {};
  return {value, bytes};
}

bool shows_nothing(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ||        // control characters
         (c >= 0x200B && c <= 0x200F) ||               // zero width, direction marks
         (c >= 0x2028 && c <= 0x202E) ||               // line separators, direction overrides
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;  // invisible operators, byte-order mark
}

std::string escape(uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return c < 0x80 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{{{:x}}}", c);
}

}  // namespace

std::string printable(std::string_view text) {
  return printable_excerpt(text, std::string_view::npos);
}

std::string printable_excerpt(std::string_view text, size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "…";
    const CodePoint point = decode(text);
    if (point.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (shows_nothing(point.value)) {
      result += escape(point.value);
    } else {
      result += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return result;
}

}  // namespace ropewalk
