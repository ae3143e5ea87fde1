#pragma once

#include <vector>

#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {

// What the summary says of a group of heads, each number with its error and computed once for all
// who tell it: of a checkpoint, and of what changed from it and to it.
class GroupNumbers {
 public:
  explicit GroupNumbers(HeadGroup group);

  const HeadGroup& group() const { return group_; }
  // Of a reading, by its place in all_views(); one that has no key in the summary has no number.
  const Estimate& of(size_t view, Aggregate what) const;
  const ClassShares& classes() const { return classes_; }

 private:
  HeadGroup group_;
  std::vector<Estimate> means_;
  std::vector<Estimate> spreads_;
  ClassShares classes_;
};

}  // namespace ropewalk
