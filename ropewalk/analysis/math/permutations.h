#pragma once

#include <cstdint>
#include <vector>

namespace ropewalk {

// A test of whether two numbers of things go together, where things come in groups whose members
// are not independent: one number is dealt anew within each group, which leaves differences between
// groups as they are.
struct GroupedAssociation {
  double sum = 0;       // of products x · y
  double expected = 0;  // its mean over all ways to deal
  // (1 + ways at least as far from the mean) / (1 + ways that were tried), two-sided; NaN where
  // dealing changes nothing.
  double p = 0;
};
inline constexpr int64_t kPermutations = 9999;

// `group` is non-decreasing. The same for the same arguments.
GroupedAssociation grouped_association(const std::vector<int64_t>& group,
                                       const std::vector<double>& x, const std::vector<double>& y,
                                       int64_t permutations = kPermutations);

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values);

}  // namespace ropewalk
