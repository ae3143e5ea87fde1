#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace ropewalk {

// A number, how sure it is, and what it is without each block of documents.
struct Estimate {
  double value = 0;  // NaN: undefined
  double se = 0;     // NaN: unknown
  std::vector<double> replicates;

  // Whether it is defined without every block.
  bool complete() const {
    return std::none_of(replicates.begin(), replicates.end(),
                        [](double replicate) { return std::isnan(replicate); });
  }
};

}  // namespace ropewalk
