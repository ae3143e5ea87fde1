#include "ropewalk/analysis/run/group_numbers.h"

#include <utility>

namespace ropewalk {

GroupNumbers::GroupNumbers(HeadGroup group)
    : group_(std::move(group)), classes_(class_shares(group_)) {
  const auto number = [&](const std::string& key, const PlacedReading& reading, Over what) {
    return key.empty() ? Estimate() : estimate(group_, reading, what);
  };
  for (const PlacedReading& reading : all_readings()) {
    means_.push_back(number(reading.reading->mean, reading, Over::mean));
    spreads_.push_back(number(reading.reading->spread, reading, Over::spread));
  }
}

const Estimate& GroupNumbers::of(size_t reading, Over what) const {
  return (what == Over::mean ? means_ : spreads_)[reading];
}

}  // namespace ropewalk
