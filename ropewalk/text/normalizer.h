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
  // How many bytes in front come from the input's first character, as the library has it; 0 where
  // none do. One character may become several, and the text be cut between them.
  size_t origin = 0;
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
