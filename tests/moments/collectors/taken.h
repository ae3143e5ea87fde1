#pragma once

#include "ropewalk/model/tap.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Queries and keys as a forward pass passes them on.
inline TappedVectors taken(int64_t layer, const Document& document, const Positions& positions,
                           const at::Tensor& q, const at::Tensor& k) {
  return {layer, &document, &positions, kPostRope, {{"q", q}, {"k", k}}};
}

}  // namespace ropewalk
