#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/regex.h"

namespace ropewalk {

// What becomes of the matches when a text is split at them.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// A text on its way to the model and the pieces into which it has been cut so far.
struct PieceList {
  std::string text;
  std::vector<TextSpan> pieces;  // in order, none empty
  size_t origin = 0;             // pieces that begin before this byte begin where the input begins
};

// Cuts every piece further at the matches of a pattern.
class Splitter {
 public:
  // `invert`: what lies between matches counts as the match.
  Splitter(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(PieceList& list, RegexScratch& scratch) const;

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace ropewalk
