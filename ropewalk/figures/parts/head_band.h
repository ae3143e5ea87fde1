#pragma once

#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {

// What the band around a mean over heads shows: one standard deviation to each side, or, where that
// would pass what the number can be (the heads are two groups, or most of them stand at a limit),
// the middle half of the heads.
enum class Band { sd, quartiles };

struct BandEnds {
  double low = 0;
  double high = 0;
};

// NaN where the mean has no spread. Both end at the limits. `heads`: the heads' own numbers, NaN
// where missing.
BandEnds band_ends(const HeadMean& mean, const std::vector<double>& heads, const Limits& limits,
                   Band kind);

// "band: ±1 SD across heads", of `count` bands; `cut`: some of them end at a limit.
std::string band_words(Band kind, size_t count, bool cut);

}  // namespace ropewalk
