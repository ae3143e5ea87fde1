#include "ropewalk/figures/parts/text_width.h"

#include <array>
#include <cstdint>

#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

// Advance widths of U+0020 to U+007E in thousandths of the font size: those of Helvetica, which
// Arial and Liberation Sans share.
constexpr std::array<int, 95> kWidths{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr int kOtherWidth = 600;
constexpr int kWideWidth = 1000;
constexpr char32_t kFirstWide = 0x1100;  // from here on, most scripts are as wide as they are high
constexpr std::string_view kEllipsis = "…";

// The number of bytes of the first character, and its code point. Bytes that are not UTF-8 count as
// one character each.
std::pair<size_t, char32_t> first_character(std::string_view text) {
  constexpr char32_t kReplacement = 0xFFFD;
  if (utf8_length(text) == 0) return {1, kReplacement};
  size_t bytes = 0;
  const char32_t code = next_code_point(text, bytes);
  return {bytes, code};
}

int character_width(char32_t code) {
  if (code >= 0x20 && code <= 0x7E) return kWidths[code - 0x20];
  // Arrows and punctuation lie above the scripts of Europe but are not wide.
  const bool symbol = code >= 0x2000 && code < 0x2E80;
  if (code == 0x2192 || code == 0x2026) return kWideWidth;
  return code >= kFirstWide && !symbol ? kWideWidth : kOtherWidth;
}

// The longest beginning of the text that fits.
std::string_view leading(std::string_view text, double size, double width) {
  double used = 0;
  size_t kept = 0;
  while (kept < text.size()) {
    const auto [bytes, code] = first_character(text.substr(kept));
    used += character_width(code) * size / 1000;
    if (used > width) break;
    kept += bytes;
  }
  return text.substr(0, kept);
}

// The longest end of the text that fits.
std::string_view trailing(std::string_view text, double size, double width) {
  double used = 0;
  size_t begin = text.size();
  while (begin > 0) {
    size_t start = begin - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0u) == 0x80u) --start;
    used += character_width(first_character(text.substr(start)).second) * size / 1000;
    if (used > width) break;
    begin = start;
  }
  return text.substr(begin);
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const auto [bytes, code] = first_character(text);
    width += character_width(code) * size / 1000;
    text.remove_prefix(bytes);
  }
  return width;
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  std::string_view kept = leading(text, size, width - text_width(kEllipsis, size));
  while (kept.ends_with(' ')) kept.remove_suffix(1);
  return std::string(kept) + std::string(kEllipsis);
}

std::string fit_middle(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  const double half = (width - text_width(kEllipsis, size)) / 2;
  return std::string(leading(text, size, half)) + std::string(kEllipsis) +
         std::string(trailing(text, size, half));
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   size_t max_lines) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    if (lines.size() + 1 == max_lines) {
      lines.push_back(fit_text(text, size, width));
      break;
    }
    size_t end = text.find(' ');
    // As many words as fit; a word that is too long gets a line of its own and is cut.
    while (end != std::string_view::npos) {
      const size_t next = text.find(' ', end + 1);
      if (text_width(text.substr(0, next), size) > width) break;
      end = next;
    }
    const std::string_view line = text.substr(0, end);
    lines.push_back(fit_text(line, size, width));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace ropewalk
