#pragma once

#include <vector>

#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {

// The numbers of the summary for a group of heads, each with its error. Each is computed once and
// used twice: for the checkpoint itself, and for its changes.
class GroupNumbers {
 public:
  explicit GroupNumbers(HeadGroup group);

  const HeadGroup& group() const { return group_; }
  // `view` is the index in all_views(). A view without a key in the summary has no number.
  const Estimate& of(size_t view, Aggregate what) const;
  const ClassShares& classes() const { return classes_; }

 private:
  HeadGroup group_;
  std::vector<Estimate> means_;
  std::vector<Estimate> spreads_;
  ClassShares classes_;
};

}  // namespace ropewalk
