#pragma once

#include <string_view>
#include <vector>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// The ids of a text, special tokens around it included, as the `tokenizers` library gives them.
inline std::vector<int32_t> all_ids(const Tokenizer& tokenizer, std::string_view text) {
  const Tokenizer::Encoding encoding = tokenizer.encode(text);
  std::vector<int32_t> ids = encoding.prefix;
  ids.insert(ids.end(), encoding.body.begin(), encoding.body.end());
  ids.insert(ids.end(), encoding.suffix.begin(), encoding.suffix.end());
  return ids;
}

}  // namespace ropewalk
