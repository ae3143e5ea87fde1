#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/moments/lags.h"

namespace ropewalk {

// The shifts of which the sums over windows are made, for a document of so many tokens. With D(a)
// the sum of q_t · (k_0 + … + k_(t - a)), the sum over the distances from a to before b is
// D(a) - D(b). A window of one distance is summed directly.
struct LagShifts {
  std::vector<int64_t> single;  // distances that are alone
  std::vector<int64_t> bound;   // where the others begin and end, below the tokens

  LagShifts(const std::vector<DistanceWindow>& windows, int64_t tokens);
  int64_t count() const { return static_cast<int64_t>(single.size() + bound.size()); }

  // The sum of a window is that of one shift less that of another: their indexes among all shifts,
  // single ones first; -1: no tokens are so far apart.
  struct Places {
    int64_t first = -1;
    int64_t last = -1;
  };
  Places of(const DistanceWindow& window) const;
};

// The number of pairs of tokens, among `tokens` that follow each other, whose distance lies in a
// window.
double pairs_in(const DistanceWindow& window, int64_t tokens);

}  // namespace ropewalk
