#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace ropewalk {

// What turns products of queries and keys into logits. NaN: not known.
struct LogitUnits {
  double scale = std::numeric_limits<double>::quiet_NaN();    // of products, before the softmax
  double context = std::numeric_limits<double>::quiet_NaN();  // tokens per document at most
  std::map<int64_t, double> scale_of_layer = {};              // of layers that have their own

  LogitUnits in_layer(int64_t layer) const {
    const auto own = scale_of_layer.find(layer);
    return {own == scale_of_layer.end() ? scale : own->second, context};
  }
};

}  // namespace ropewalk
