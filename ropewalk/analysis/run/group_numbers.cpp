#include "ropewalk/analysis/run/group_numbers.h"

#include <utility>

namespace ropewalk {

GroupNumbers::GroupNumbers(HeadGroup group)
    : group_(std::move(group)), classes_(class_shares(group_)) {
  const auto number = [&](const std::string& key, const IndexedView& view, Aggregate what) {
    return key.empty() ? Estimate() : estimate(group_, view, what);
  };
  for (const IndexedView& view : all_views()) {
    means_.push_back(number(view.view->mean, view, Aggregate::mean));
    spreads_.push_back(number(view.view->spread, view, Aggregate::spread));
  }
}

const Estimate& GroupNumbers::of(size_t view, Aggregate what) const {
  return (what == Aggregate::mean ? means_ : spreads_)[view];
}

}  // namespace ropewalk
