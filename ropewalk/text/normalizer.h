#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/text/json_part.h"
#include "ropewalk/text/regex.h"
#include "ropewalk/text/rewritten.h"

namespace ropewalk {

// A stretch of text between added tokens, being normalised.
struct NormalizedText {
  std::string text;
  bool at_origin = false;  // begins where the input begins, nothing having been cut from its front
  size_t longest = longest_rewritten(text.size());  // in bytes, whatever the steps are
};

// One step of the `normalizer` section.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text, RegexScratch& scratch) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

// The steps of a `normalizer` section, nested sequences flattened. Throws InputError on kinds and
// settings it does not know.
Normalizers read_normalizers(const JsonPart& part);

}  // namespace ropewalk
