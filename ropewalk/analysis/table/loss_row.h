#pragma once

#include <cstdint>

namespace ropewalk {

// The loss of tokens whose positions lie in [begin, end), per token, with its standard error over
// documents, or over the texts that they are pieces of.
struct LossRow {
  int64_t begin = 0;
  int64_t end = 0;        // 0: all positions together
  double loss = 0;        // nats per token
  double se = 0;          // NaN: one document has no spread
  int64_t documents = 0;  // that have such tokens
  int64_t groups = 0;     // that are independent of each other: documents, or their texts
  int64_t tokens = 0;     // that predict another
};

// What a document, or all pieces of a text, spent on how many predictions, in nats.
struct LossPart {
  int64_t key = 0;  // the document's index, or its text
  double loss = 0;
  int64_t tokens = 0;
};

}  // namespace ropewalk
