#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace ropewalk {

// The factors that turn products of queries and keys into logits. NaN: unknown.
struct LogitUnits {
  double scale = std::numeric_limits<double>::quiet_NaN();  // factor of products before the softmax
  // largest number of tokens per document
  double context = std::numeric_limits<double>::quiet_NaN();
  std::map<int64_t, double> scale_of_layer = {};  // for layers with a factor of their own

  LogitUnits in_layer(int64_t layer) const {
    const auto own = scale_of_layer.find(layer);
    return {own == scale_of_layer.end() ? scale : own->second, context};
  }
};

}  // namespace ropewalk
