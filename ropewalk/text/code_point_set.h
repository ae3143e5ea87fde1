#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

namespace ropewalk {

struct CodePointRange {
  char32_t first;
  char32_t last;  // inclusive
  friend auto operator<=>(const CodePointRange&, const CodePointRange&) = default;
};

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// A set of code points, kept as sorted ranges that do not touch.
class CodePointSet {
 public:
  CodePointSet() = default;
  explicit CodePointSet(std::span<const CodePointRange> ranges);  // in any order, overlaps allowed
  static CodePointSet of(char32_t code_point) { return range(code_point, code_point); }
  static CodePointSet range(char32_t first, char32_t last);

  bool contains(char32_t code_point) const;
  bool empty() const { return ranges_.empty(); }
  std::span<const CodePointRange> ranges() const { return ranges_; }

  CodePointSet complement() const;
  friend CodePointSet operator|(const CodePointSet& a, const CodePointSet& b);
  friend CodePointSet operator&(const CodePointSet& a, const CodePointSet& b);
  friend CodePointSet operator^(const CodePointSet& a, const CodePointSet& b);
  friend auto operator<=>(const CodePointSet&, const CodePointSet&) = default;

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace ropewalk
