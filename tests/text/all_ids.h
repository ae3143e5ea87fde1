#pragma once

#include <string>
#include <vector>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

inline Tokenizer::Encoding encode(const Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.receive(tokenizer.send({text})).front().encoding;
}

// The ids of a text, including special tokens around it, as the `tokenizers` library gives them.
inline std::vector<int32_t> all_ids(const Tokenizer& tokenizer, const std::string& text) {
  const Tokenizer::Encoding encoding = encode(tokenizer, text);
  std::vector<int32_t> ids = encoding.prefix;
  ids.insert(ids.end(), encoding.body.begin(), encoding.body.end());
  ids.insert(ids.end(), encoding.suffix.begin(), encoding.suffix.end());
  return ids;
}

}  // namespace ropewalk
