#pragma once

#include <span>

namespace ropewalk {

// Standard error of an estimate by the delete-one-block jackknife: `replicates[b]` is the estimate
// without block b, `sizes[b]` the tokens in it. For blocks of different sizes this is the
// delete-m_j jackknife of Busing, Meijer & van der Leeden (1999); for equal sizes it is the
// ordinary one. NaN where there are fewer than two blocks or a replicate is NaN.
double jackknife_se(double estimate, std::span<const double> replicates,
                    std::span<const double> sizes);

// Fewer blocks than this get the flag few_blocks.
inline constexpr int kFewBlocks = 8;

}  // namespace ropewalk
