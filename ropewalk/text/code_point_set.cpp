#include "ropewalk/text/code_point_set.h"

#include <algorithm>

namespace ropewalk {

CodePointSet::CodePointSet(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> sorted(ranges.begin(), ranges.end());
  std::sort(sorted.begin(), sorted.end());
  for (const CodePointRange& next : sorted) {
    if (!ranges_.empty() && next.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, next.last);
    } else {
      ranges_.push_back(next);
    }
  }
}

CodePointSet CodePointSet::range(char32_t first, char32_t last) {
  CodePointSet set;
  set.ranges_.push_back({first, last});
  return set;
}

bool CodePointSet::contains(char32_t code_point) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), code_point,
      [](char32_t value, const CodePointRange& candidate) { return value < candidate.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const CodePointRange& member : ranges_) {
    if (next < member.first) result.ranges_.push_back({next, member.first - 1});
    next = member.last + 1;
  }
  if (next <= kLastCodePoint) result.ranges_.push_back({next, kLastCodePoint});
  return result;
}

CodePointSet operator|(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointRange> both(a.ranges_);
  both.insert(both.end(), b.ranges_.begin(), b.ranges_.end());
  return CodePointSet(both);
}

CodePointSet operator&(const CodePointSet& a, const CodePointSet& b) {
  return (a.complement() | b.complement()).complement();
}

CodePointSet operator^(const CodePointSet& a, const CodePointSet& b) {
  return (a | b) & (a & b).complement();
}

}  // namespace ropewalk
