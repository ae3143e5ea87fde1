#pragma once

#include <memory>
#include <vector>

#include "ropewalk/text/json_part.h"
#include "ropewalk/text/split.h"

namespace ropewalk {

// One step of the `pre_tokenizer` section: cuts a text into words and may rewrite it.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(PieceList& list, RegexScratch& scratch) const = 0;
};

using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

// The steps of a `pre_tokenizer` section, nested sequences flattened. Throws InputError on kinds
// and settings it does not know.
PreTokenizers read_pre_tokenizers(const JsonPart& part);

// "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext" or "Contiguous".
SplitBehavior read_split_behavior(const JsonPart& part);

// A `pattern` setting, {"String": …} or {"Regex": …}.
Regex read_pattern(const JsonPart& part);

}  // namespace ropewalk
