#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace ropewalk {

// A number with its standard error, and its values without each block of documents.
struct Estimate {
  double value = 0;  // NaN: undefined
  double se = 0;     // NaN: unknown
  std::vector<double> replicates;

  // Whether the number is defined without every single block.
  bool complete() const {
    return std::none_of(replicates.begin(), replicates.end(),
                        [](double replicate) { return std::isnan(replicate); });
  }
};

}  // namespace ropewalk
