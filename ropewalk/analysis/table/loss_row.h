#pragma once

#include <cstdint>

namespace ropewalk {

// The loss per token at positions in [begin, end), with its standard error over documents, or over
// texts where documents are pieces of texts.
struct LossRow {
  int64_t begin = 0;
  int64_t end = 0;        // with `begin` 0: all positions
  double loss = 0;        // nats per token
  double se = 0;          // NaN: a single document has no spread
  int64_t documents = 0;  // documents with tokens at these positions
  int64_t groups = 0;     // independent documents or texts
  int64_t tokens = 0;     // tokens that predict a next one
};

// The sum of the loss over the predictions of one document, or of all pieces of one text, in nats.
struct LossPart {
  int64_t key = 0;  // index of the document or of the text
  double loss = 0;
  int64_t tokens = 0;
};

}  // namespace ropewalk
