#include "ropewalk/base/printable.h"

#include <fmt/format.h>

#include <cstdint>

#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

bool shows_nothing(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ||        // control characters
         (c >= 0x200B && c <= 0x200F) ||               // zero width, direction marks
         (c >= 0x2028 && c <= 0x202E) ||               // line separators, direction overrides
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;  // invisible operators, byte-order mark
}

std::string escape(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  const auto number = static_cast<uint32_t>(c);
  return c < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{{{:x}}}", number);
}

}  // namespace

std::string printable(std::string_view text) {
  return printable_excerpt(text, std::string_view::npos);
}

std::string printable_excerpt(std::string_view text, size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "…";
    if (utf8_length(text) == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    size_t bytes = 0;
    const char32_t code_point = next_code_point(text, bytes);
    if (shows_nothing(code_point)) {
      result += escape(code_point);
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace ropewalk
