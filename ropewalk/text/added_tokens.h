#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ropewalk/text/code_point_set.h"
#include "ropewalk/text/json_part.h"
#include "ropewalk/text/regex.h"

namespace ropewalk {

// One entry of the `added_tokens` section.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // not inside a word
  bool lstrip = false;       // takes whitespace on its left with it
  bool rstrip = false;
  bool normalized = false;  // looked for in the normalised text
};

// The section's tokens, one an id. Ids are those that the library gives (the vocabulary's own, else
// counted on from its size); a file that says otherwise is refused.
std::vector<AddedToken> read_added_tokens(
    const JsonPart& part, const std::function<std::optional<int32_t>(std::string_view)>& vocabulary,
    size_t vocabulary_tokens);

// Finds added tokens in a text: of those that begin first the longest, then on from its end.
class AddedTokenFinder {
 public:
  // `patterns[i]` is what `tokens[i]` looks like in the text: not empty, no two alike.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& patterns);

  // A stretch of the text: a token with its id, or text between tokens.
  struct Part {
    TextSpan span;
    std::optional<int32_t> id;
  };
  // Replaces `parts` by the parts of `text`.
  void split(std::string_view text, std::vector<Part>& parts) const;

 private:
  struct Match {
    size_t end;
    size_t token;
  };
  std::optional<Match> longest_match(std::string_view text, size_t at) const;
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;
  // A trie over bytes. Children are found by (node, byte); most text fails at the root's table.
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<uint32_t> root_;     // [byte], 0 where no token starts so
  std::vector<int32_t> token_at_;  // [node], -1 for none
  CodePointSet word_;
  CodePointSet whitespace_;
};

}  // namespace ropewalk
