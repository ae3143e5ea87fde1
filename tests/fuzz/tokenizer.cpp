#include "ropewalk/text/old_tokenizer.h"

#include "tests/fuzz/target.h"
#include "tests/text/all_ids.h"

// A tokenizer.json, and behind a zero byte a text for it.
void ropewalk::fuzz::read(const Input& input) {
  const size_t end = input.bytes.find('\0');
  const OldTokenizer tokenizer = OldTokenizer::from_json(input.bytes.substr(0, end), "tokenizer.json");
  const auto encode = [&](std::string_view text) {
    for (const int32_t id : all_ids(tokenizer, text)) {
      require(id >= 0 && id < tokenizer.vocabulary_size(), "ids lie within the vocabulary");
    }
  };
  encode("Hello, w\u00f6rld 123!  \u0130aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\t\u4f60\u597d don't<s>");
  if (end != std::string_view::npos) encode(input.bytes.substr(end + 1));
}
