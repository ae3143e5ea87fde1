// The shape of a head's queries and keys: how many dimensions they fill, and how evenly.

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/head_cases.h"
#include "ropewalk/analysis/statistic.h"
#include "ropewalk/analysis/updated_axis.h"

namespace ropewalk::statistic {
namespace {

constexpr double kHeld = 0.9;  // of the variance

// How many of these variances [cases, kept], largest first, hold kHeld of all, the last one counted
// in part; NaN where they do not.
at::Tensor held_by(const at::Tensor& variances, const at::Tensor& all) {
  const at::Tensor sums = variances.cumsum(1), goal = all.unsqueeze(1) * kHeld;
  const at::Tensor whole = (sums < goal).to(at::kLong).sum(1, true);
  const at::Tensor place = whole.clamp_max(variances.size(1) - 1);
  const at::Tensor last = variances.gather(1, place), before = sums.gather(1, place) - last;
  const at::Tensor found = (whole == place).logical_and(last > 0);
  return at::where(found, whole + (goal - before) / last, kUndefined).squeeze(1);
}

// Replicates keep the components of the whole sample: without each block, the variance along them.
at::Tensor rank90(const StreamCases& stream) {
  at::Tensor& rank = stream.shared->rank;
  if (rank.defined()) return rank;
  const at::Tensor all = stream.products.diagonal(0, 1, 2).sum(1) / stream.tokens;
  const at::Tensor largest = (stream.whole_values().flip(0).clamp_min(0) / stream.tokens[0]);
  const double needed = held_by(largest.unsqueeze(0), all.slice(0, 0, 1)).item<double>();
  // A replicate hardly needs more than a few components beyond those of the whole sample.
  const int64_t d = stream.dimensions();
  for (int64_t kept = std::isnan(needed) ? d : static_cast<int64_t>(needed) + 2 + d / 16;;) {
    const at::Tensor axes = stream.whole_vectors().slice(1, std::max<int64_t>(0, d - kept));
    const at::Tensor image = at::matmul(stream.products, axes);  // [cases, d, kept]
    const at::Tensor along = (image * axes).sum(1) / stream.tokens.unsqueeze(1);
    rank = held_by(along.clamp_min(0).flip(1), all);
    if (kept >= d || !at::isnan(rank).any().item<bool>()) return rank;
    kept = d;
  }
}

// (Σ λ)² / Σ λ², which needs no eigenvalue.
at::Tensor participation(const StreamCases& stream) {
  const at::Tensor sum = stream.products.diagonal(0, 1, 2).sum(1);
  return at::where(sum > 0, sum.square() / matrix_dot(stream.products, stream.products),
                   kUndefined);
}

at::Tensor massive(const StreamCases& stream) {
  const at::Tensor variance = stream.products.diagonal(0, 1, 2) / stream.tokens.unsqueeze(1);
  const at::Tensor size = (variance + stream.mean.square()).sqrt();
  const at::Tensor mean = size.mean(1);
  return at::where(mean > 0, size.amax(1) / mean, kUndefined);
}

// Share of the second moments of queries along their first direction, which replicates keep.
at::Tensor qfilter(const StreamCases& q) {
  const at::Tensor& basis = q.whole_vectors();
  const UpdatedAxis first = updated_axis((q.whole_values() / q.tokens[0]).unsqueeze(0),
                                         at::mm(q.mean.slice(0, 0, 1), basis), 1);
  const at::Tensor axis = at::mm(first.vectors, basis.t()).expand_as(q.mean);
  const at::Tensor along = q.variance_along(axis) + row_dot(q.mean, axis).square();
  const at::Tensor all = q.products.diagonal(0, 1, 2).sum(1) / q.tokens + row_dot(q.mean, q.mean);
  return at::where(all > 0, along / all, kUndefined);
}

at::Tensor compute(const HeadCases& head) {
  const StreamCases &q = head.queries, &k = head.keys;
  return at::stack({rank90(q), rank90(k), participation(q), participation(k), massive(q),
                    massive(k), qfilter(q)},
                   1);
}

}  // namespace

const std::vector<Statistic>& shape() {
  constexpr double kAny = std::numeric_limits<double>::max();
  static const std::vector<Statistic> kStatistics = computed_by(
      compute,
      {head_statistic("rank90_q", "rank of queries", Hue::queries,
                      "number of leading components that hold 90 % of the variance of queries, the "
                      "last one in part",
                      0, kAny),
       head_statistic("rank90_k", "rank of keys", Hue::keys,
                      "number of leading components that hold 90 % of the variance of keys, the "
                      "last one in part",
                      0, kAny),
       head_statistic("pr_q", "participation of queries", Hue::queries,
                      "participation ratio of queries: the squared sum of the eigenvalues over the "
                      "sum of their squares",
                      0, kAny),
       head_statistic("pr_k", "participation of keys", Hue::keys, "participation ratio of keys", 0,
                      kAny),
       head_statistic("massive_q", "massive values of queries", Hue::queries,
                      "root mean square of the largest dimension of queries over the mean of all",
                      0, kAny),
       head_statistic("massive_k", "massive values of keys", Hue::keys,
                      "root mean square of the largest dimension of keys over the mean of all", 0,
                      kAny),
       head_statistic("qfilter_ev", "share of the query filter", Hue::queries,
                      "share of queries' second moments, means included, along their first "
                      "direction",
                      0, 1)});
  return kStatistics;
}

}  // namespace ropewalk::statistic
