#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk {

// A token of an edge: its id, those of the tokens around it, and all of them as text.
struct EdgeToken {
  int64_t position = 0;
  // As many before the token as behind it; -1 beyond the document. Empty: the table was read.
  std::vector<int64_t> around;
  int64_t id = 0;
  std::string before;  // all three empty: no tokenizer is known
  std::string text;
  std::string after;
};

// A strong link of a head: a token that gave much of its attention to an earlier one.
struct EdgeRow {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t kv_head = 0;
  int64_t rope = 0;      // 1, or 0 on a NoPE layer
  int64_t document = 0;  // its index
  EdgeToken query;
  EdgeToken key;
  double p = 0;
};

}  // namespace ropewalk
