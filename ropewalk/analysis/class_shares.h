#pragma once

#include <vector>

#include "ropewalk/analysis/head_group.h"

namespace ropewalk {

// Shares of heads in each class, in the order of kHeadClasses: values, and values under each draw
// of block_draws (empty without replicates). A class is a step function of r_q and r_k, for which
// the jackknife fails (docs/method.md). Heads whose numbers are undefined without some block have
// no standard error, and are left out of the draws.
struct ClassShares {
  std::vector<double> values;
  std::vector<std::vector<double>> drawn;  // [class][draw]

  // NaN without draws.
  double se(size_t head_class) const;
};
ClassShares class_shares(const HeadGroup& group);

// Heads in each class.
std::vector<int64_t> class_counts(const HeadGroup& group);

}  // namespace ropewalk
