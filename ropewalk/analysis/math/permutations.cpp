#include "ropewalk/analysis/math/permutations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "ropewalk/base/split_mix.h"

namespace ropewalk {
namespace {

constexpr uint64_t kSeed = 0x726f6c6573;

// The begin of each group, and the end.
std::vector<size_t> bounds_of(const std::vector<int64_t>& group) {
  std::vector<size_t> bounds;
  for (size_t i = 0; i < group.size(); ++i) {
    if (i == 0 || group[i] != group[i - 1]) bounds.push_back(i);
  }
  bounds.push_back(group.size());
  return bounds;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool varies(std::span<const double> values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

}  // namespace

GroupedAssociation grouped_association(const std::vector<int64_t>& group,
                                       const std::vector<double>& x, const std::vector<double>& y,
                                       int64_t permutations) {
  const std::vector<size_t> bounds = bounds_of(group);
  GroupedAssociation found;
  found.sum = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  bool open = false;  // whether dealing changes anything
  for (size_t g = 0; g + 1 < bounds.size(); ++g) {
    const size_t begin = bounds[g], count = bounds[g + 1] - begin;
    const std::span<const double> mine = std::span(x).subspan(begin, count);
    const std::span<const double> others = std::span(y).subspan(begin, count);
    found.expected += sum_of(mine) * sum_of(others) / static_cast<double>(count);
    open = open || (varies(mine) && varies(others));
  }
  if (!open) {
    found.p = std::numeric_limits<double>::quiet_NaN();
    return found;
  }
  // Sums in another order differ in their last digits.
  const double scale = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) *
                                 std::inner_product(y.begin(), y.end(), y.begin(), 0.0));
  const double as_far = std::abs(found.sum - found.expected) - 1e-9 * scale;
  SplitMix random(kSeed);
  std::vector<double> dealt = y;
  int64_t farther = 0;
  for (int64_t i = 0; i < permutations; ++i) {
    for (size_t g = 0; g + 1 < bounds.size(); ++g) {
      for (size_t last = bounds[g + 1] - 1; last > bounds[g]; --last) {
        const auto among = static_cast<int64_t>(last - bounds[g] + 1);
        std::swap(dealt[last], dealt[bounds[g] + static_cast<size_t>(random.below(among))]);
      }
    }
    const double sum = std::inner_product(x.begin(), x.end(), dealt.begin(), 0.0);
    if (std::abs(sum - found.expected) >= as_far) ++farther;
  }
  found.p = static_cast<double>(1 + farther) / static_cast<double>(1 + permutations);
  return found;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace ropewalk
