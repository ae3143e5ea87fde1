#pragma once

#include <vector>

namespace ropewalk {

// A number, how sure it is, and what it is without each block of documents.
struct Estimate {
  double value = 0;  // NaN: undefined
  double se = 0;     // NaN: unknown
  std::vector<double> replicates;
};

}  // namespace ropewalk
