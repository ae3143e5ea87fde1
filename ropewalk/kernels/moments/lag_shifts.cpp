#include "ropewalk/kernels/moments/lag_shifts.h"

#include <algorithm>
#include <set>

namespace ropewalk {
namespace {

bool alone(const DistanceWindow& window) { return window.end == window.begin + 1; }

int64_t place_in(const std::vector<int64_t>& list, int64_t shift) {
  const auto found = std::find(list.begin(), list.end(), shift);
  return found == list.end() ? -1 : found - list.begin();
}

}  // namespace

LagShifts::LagShifts(const std::vector<DistanceWindow>& windows, int64_t tokens) {
  std::set<int64_t> bounds;
  for (const DistanceWindow& window : windows) {
    if (window.begin >= tokens) continue;
    if (alone(window)) single.push_back(window.begin);
    for (const int64_t shift : {window.begin, window.end}) {
      if (!alone(window) && shift < tokens) bounds.insert(shift);
    }
  }
  bound.assign(bounds.begin(), bounds.end());
}

LagShifts::Places LagShifts::of(const DistanceWindow& window) const {
  if (alone(window)) return {place_in(single, window.begin), -1};
  const auto among_bounds = [&](int64_t shift) {
    const int64_t found = place_in(bound, shift);
    return found < 0 ? found : found + static_cast<int64_t>(single.size());
  };
  return {among_bounds(window.begin), among_bounds(window.end)};
}

double pairs_in(const DistanceWindow& window, int64_t tokens) {
  const int64_t end = std::min(window.end, tokens);
  if (window.begin >= end) return 0;
  const auto nearest = static_cast<double>(tokens - window.begin);
  const auto farthest = static_cast<double>(tokens - end + 1);
  return (nearest + farthest) / 2 * static_cast<double>(end - window.begin);
}

}  // namespace ropewalk
