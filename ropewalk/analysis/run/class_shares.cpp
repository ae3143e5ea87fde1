#include "ropewalk/analysis/run/class_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/table/taxonomy.h"

namespace ropewalk {
namespace {

// A head's r_q and r_k with their replicates.
struct Correlations {
  Estimate r_q;
  Estimate r_k;
};

// The heads that are defined in every replicate.
std::vector<Correlations> complete_heads(const HeadGroup& group) {
  const size_t r_q = statistic_index("r_q"), r_k = statistic_index("r_k");
  std::vector<Correlations> heads;
  for (size_t i = 0; i < group.rows.size(); ++i) {
    const auto number = [&](size_t index) {
      return head_estimate(*group.checkpoint, index, group.rows[i], group.numbers[i]);
    };
    Correlations head{number(r_q), number(r_k)};
    if (head.r_q.complete() && head.r_k.complete()) heads.push_back(std::move(head));
  }
  return heads;
}

}  // namespace

double ClassShares::se(size_t head_class) const {
  return drawn.empty() ? std::numeric_limits<double>::quiet_NaN()
                       : standard_deviation(drawn[head_class]);
}

bool ClassShares::without_spread(size_t head_class) const {
  // One head that changes class in one of twenty-five draws has a spread of a fifth of its share.
  constexpr double kLeast = 0.2;
  return !drawn.empty() && se(head_class) * static_cast<double>(heads) < kLeast;
}

ShareInterval ClassShares::interval(size_t head_class) const {
  return share_interval(values[head_class], heads);
}

ShareInterval share_interval(double share, size_t n) {
  // half the width of a normal distribution's 95 % interval
  constexpr double kWidth = 1.959963984540054;
  const auto count = static_cast<double>(n);
  const double extra = kWidth * kWidth / count;
  const double middle = (share + extra / 2) / (1 + extra);
  const double half =
      kWidth * std::sqrt(share * (1 - share) / count + extra / (4 * count)) / (1 + extra);
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

std::vector<int64_t> class_counts(const HeadGroup& group) {
  std::vector<int64_t> counts(kHeadClasses.size(), 0);
  for (const size_t row : group.rows) {
    ++counts[static_cast<size_t>(*class_of(*group.checkpoint, row))];
  }
  return counts;
}

ClassShares class_shares(const HeadGroup& group) {
  ClassShares shares;
  shares.values.assign(kHeadClasses.size(), std::numeric_limits<double>::quiet_NaN());
  if (group.rows.empty()) return shares;
  shares.values.assign(kHeadClasses.size(), 0);
  shares.heads = group.rows.size();
  const double share = 1 / static_cast<double>(group.rows.size());
  for (const size_t row : group.rows) {
    shares.values[static_cast<size_t>(*class_of(*group.checkpoint, row))] += share;
  }
  if (group.blocks < 2) return shares;
  const std::vector<Correlations> heads = complete_heads(group);
  if (heads.empty()) return shares;
  const double drawn_share = 1 / static_cast<double>(heads.size());
  shares.drawn.assign(kHeadClasses.size(), std::vector<double>(kResamples, 0));
  const Resamples resamples(group.blocks);
  for (const Correlations& head : heads) {
    const std::vector<double> r_q = resamples.of(head.r_q.value, head.r_q.replicates);
    const std::vector<double> r_k = resamples.of(head.r_k.value, head.r_k.replicates);
    for (size_t i = 0; i < kResamples; ++i) {
      shares.drawn[static_cast<size_t>(classify(r_q[i], r_k[i]))][i] += drawn_share;
    }
  }
  return shares;
}

}  // namespace ropewalk
