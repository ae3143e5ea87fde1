// The shape of the set of a head's queries and keys: how many dimensions they fill, and how evenly.

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/updated_axis.h"
#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

constexpr double kHeld = 0.9;  // share of the variance

// Along the whole sample's components [d, d], ascending: how many of the largest hold kHeld of the
// variance in each replicate; the last one counts in part. Only components from `begin` to `end`,
// counted from the largest, are looked at one by one; NaN where the last component falls outside
// [begin, end).
at::Tensor components_needed(const StreamReplicates& stream, const at::Tensor& components,
                             int64_t begin, int64_t end) {
  const int64_t d = components.size(0), cases = stream.cases();
  const at::Tensor rows = components.slice(1, d - end, d - begin).t().flip(0).contiguous();
  const at::Tensor image = times_products(rows, stream.products);  // [replicates, end - begin, d]
  const at::Tensor variances = (image * rows).sum(2).clamp_min(0);
  const at::Tensor first = components.slice(1, d - begin);
  const at::Tensor before =
      at::mv(stream.products.reshape({cases, d * d}), at::mm(first, first.t()).reshape({d * d}));
  const at::Tensor sums = variances.cumsum(1) + before.unsqueeze(1);
  const at::Tensor goal = stream.products.diagonal(0, 1, 2).sum(1, true) * kHeld;
  const at::Tensor whole = (sums < goal).to(at::kLong).sum(1, true);
  const at::Tensor index = whole.clamp_max(end - begin - 1);
  const at::Tensor last = variances.gather(1, index), lacks = goal - (sums.gather(1, index) - last);
  const at::Tensor found = (whole == index).logical_and(last > 0).logical_and(lacks > 0);
  return at::where(found, begin + whole + lacks / last, kUndefined).squeeze(1);
}

// Replicates keep the components of the whole sample; only the variance along them is computed
// without each block.
at::Tensor rank90(const StreamReplicates& stream) {
  at::Tensor& rank = stream.shared->rank;
  if (rank.defined()) return rank;
  // Replicates need about as many components as the whole sample.
  const int64_t d = stream.dimensions(), margin = 2 + d / 16;
  const at::Tensor held = stream.full_sample_eigenvalues().flip(0).clamp_min(0).cumsum(0);
  const auto needed = (held < held[d - 1] * kHeld).sum().item<int64_t>();
  const at::Tensor& components = stream.full_sample_eigenvectors();
  rank = components_needed(stream, components, std::max<int64_t>(0, needed - margin),
                           std::min(d, needed + margin));
  if (at::isnan(rank).any().item<bool>()) rank = components_needed(stream, components, 0, d);
  return rank;
}

// (Σ λ)² / Σ λ², from traces: no eigenvalue is needed.
at::Tensor participation(const StreamReplicates& stream) {
  at::Tensor& found = stream.shared->participation;
  if (found.defined()) return found;
  const at::Tensor sum = stream.products.diagonal(0, 1, 2).sum(1);
  found =
      at::where(sum > 0, sum.square() / matrix_dot(stream.products, stream.products), kUndefined);
  return found;
}

at::Tensor massive(const StreamReplicates& stream) {
  const at::Tensor variance = stream.products.diagonal(0, 1, 2) / stream.tokens.unsqueeze(1);
  const at::Tensor size = (variance + stream.mean.square()).sqrt();
  const at::Tensor mean = size.mean(1);
  return at::where(mean > 0, size.amax(1) / mean, kUndefined);
}

// The share of the second moments of queries along their first direction. Replicates keep the whole
// sample's direction.
at::Tensor qfilter(const StreamReplicates& q) {
  const at::Tensor& basis = q.full_sample_eigenvectors();
  const UpdatedAxis first = updated_axis((q.full_sample_eigenvalues() / q.tokens[0]).unsqueeze(0),
                                         at::mm(q.mean.slice(0, 0, 1), basis), 1);
  const at::Tensor axis = at::mm(first.vectors, basis.t()).expand_as(q.mean);
  const at::Tensor along = q.variance_along(axis) + row_dot(q.mean, axis).square();
  const at::Tensor all = q.products.diagonal(0, 1, 2).sum(1) / q.tokens + row_dot(q.mean, q.mean);
  return at::where(all > 0, along / all, kUndefined);
}

at::Tensor compute(const HeadReplicates& head) {
  const StreamReplicates &q = head.queries, &k = head.keys;
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
                      ChangeScale::size, 0, kAny),
       head_statistic("rank90_k", "rank of keys", Hue::keys,
                      "number of leading components that hold 90 % of the variance of keys, the "
                      "last one in part",
                      ChangeScale::size, 0, kAny),
       head_statistic("pr_q", "participation of queries", Hue::queries,
                      "participation ratio of queries: the squared sum of the eigenvalues of their "
                      "covariance over the sum of the squares",
                      ChangeScale::size, 0, kAny),
       head_statistic("pr_k", "participation of keys", Hue::keys,
                      "participation ratio of keys: the squared sum of the eigenvalues of their "
                      "covariance over the sum of the squares",
                      ChangeScale::size, 0, kAny),
       head_statistic("massive_q", "massive values of queries", Hue::queries,
                      "root mean square of the largest dimension of queries over the mean of all "
                      "dimensions",
                      ChangeScale::size, 0, kAny),
       head_statistic("massive_k", "massive values of keys", Hue::keys,
                      "root mean square of the largest dimension of keys over the mean of all "
                      "dimensions",
                      ChangeScale::size, 0, kAny),
       head_statistic("qfilter_ev", "share of the query filter", Hue::queries,
                      "share of queries' second moments, means included, along their first "
                      "direction",
                      ChangeScale::share, 0, 1)});
  return kStatistics;
}

}  // namespace ropewalk::statistic
