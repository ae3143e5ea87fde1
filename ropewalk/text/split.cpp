#include "ropewalk/text/split.h"

#include <algorithm>
#include <utility>

namespace ropewalk {
namespace {

struct Part {
  TextSpan span;
  bool is_match;
};

// Joins a match to its neighbour before it (in the order given), unless that is a match too.
template <typename Iterator, typename Join>
void merge_matches(Iterator begin, Iterator end, Join join, std::vector<TextSpan>& out) {
  bool after_match = false;
  const size_t first = out.size();
  for (; begin != end; ++begin) {
    if (begin->is_match && !after_match && out.size() > first) {
      join(out.back(), begin->span);
    } else {
      out.push_back(begin->span);
    }
    after_match = begin->is_match;
  }
}

void apply(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<TextSpan>& out) {
  const size_t first = out.size();
  switch (behavior) {
    case SplitBehavior::removed:
      for (const Part& part : parts) {
        if (!part.is_match) out.push_back(part.span);
      }
      break;
    case SplitBehavior::isolated:
      for (const Part& part : parts) out.push_back(part.span);
      break;
    case SplitBehavior::contiguous: {
      bool previous = false;
      for (const Part& part : parts) {
        if (part.is_match == previous && out.size() > first) {
          out.back().end = part.span.end;
        } else {
          out.push_back(part.span);
        }
        previous = part.is_match;
      }
      break;
    }
    case SplitBehavior::merged_with_previous:
      merge_matches(
          parts.begin(), parts.end(), [](TextSpan& a, TextSpan b) { a.end = b.end; }, out);
      break;
    case SplitBehavior::merged_with_next:
      merge_matches(
          parts.rbegin(), parts.rend(), [](TextSpan& a, TextSpan b) { a.begin = b.begin; }, out);
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
      break;
  }
}

}  // namespace

void Splitter::split(PieceList& list, RegexScratch& scratch) const {
  std::vector<TextSpan> matches;
  std::vector<Part> parts;
  std::vector<TextSpan> result;
  for (const TextSpan piece : list.pieces) {
    const std::string_view text(list.text.data() + piece.begin, piece.end - piece.begin);
    pattern_.find_all(text, scratch, matches);
    parts.clear();
    size_t done = 0;
    const auto add = [&](size_t begin, size_t end, bool is_match) {
      parts.push_back({{piece.begin + begin, piece.begin + end}, is_match != invert_});
    };
    for (const TextSpan match : matches) {
      if (done != match.begin) add(done, match.begin, false);
      add(match.begin, match.end, true);
      done = match.end;
    }
    if (done != text.size()) add(done, text.size(), false);
    apply(parts, behavior_, result);
  }
  std::erase_if(result, [](TextSpan span) { return span.begin == span.end; });
  list.pieces = std::move(result);
}

}  // namespace ropewalk
