#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/moments/lags.h"

namespace ropewalk {

// What sums over windows of a document of so many tokens are made of. With D(a) the sum of
// q_t · (k_0 + … + k_(t - a)), that over the distances from a to before b is D(a) - D(b); of one
// distance alone it is taken directly.
struct LagShifts {
  std::vector<int64_t> single;  // distances that are alone
  std::vector<int64_t> bound;   // where the others begin and end, below the tokens

  LagShifts(const std::vector<DistanceWindow>& windows, int64_t tokens);
  int64_t count() const { return static_cast<int64_t>(single.size() + bound.size()); }

  // A window's sum is one of the shifts less another: their places among all, singles first; -1:
  // no tokens are so far apart.
  struct Places {
    int64_t first = -1;
    int64_t last = -1;
  };
  Places of(const DistanceWindow& window) const;
};

// Pairs of `tokens` neighbours whose distance lies in a window.
double pairs_in(const DistanceWindow& window, int64_t tokens);

}  // namespace ropewalk
