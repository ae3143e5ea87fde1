#pragma once

#include <limits>

namespace ropewalk {

// What turns products of queries and keys into logits. NaN: not known.
struct LogitUnits {
  double scale = std::numeric_limits<double>::quiet_NaN();    // of products, before the softmax
  double context = std::numeric_limits<double>::quiet_NaN();  // tokens per document at most
};

}  // namespace ropewalk
