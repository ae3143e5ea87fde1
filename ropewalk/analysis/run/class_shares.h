#pragma once

#include <cstddef>
#include <vector>

#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {

// The 95 % interval of a share among n heads (Wilson 1927).
struct ShareInterval {
  double low = 0;
  double high = 1;
};
ShareInterval share_interval(double share, size_t n);

// Shares of heads in each class, in the order of kHeadClasses: values, and values under each draw
// of block_draws (empty without replicates). A class is a step function of r_q and r_k, for which
// the jackknife fails (docs/method.md). Heads that are undefined without some block have no
// standard error, and the draws leave them out.
struct ClassShares {
  std::vector<double> values;
  std::vector<std::vector<double>> drawn;  // [class][draw]
  size_t heads = 0;

  // NaN without draws.
  double se(size_t head_class) const;
  // Whether hardly any draw gives another share. Documents then say nothing about its error, and
  // the share has the binomial interval for its number of heads instead.
  bool without_spread(size_t head_class) const;
  ShareInterval interval(size_t head_class) const;
};
ClassShares class_shares(const HeadGroup& group);

// The number of heads per class.
std::vector<int64_t> class_counts(const HeadGroup& group);

}  // namespace ropewalk
