// The shape of a head's queries and keys: how many dimensions they fill, and how evenly.

#include "ropewalk/analysis/head_cases.h"
#include "ropewalk/analysis/leading_second_moment.h"
#include "ropewalk/analysis/statistic.h"

namespace ropewalk::statistic {
namespace {

constexpr double kHeld = 0.9;  // of the variance

// How many of the largest eigenvalues hold kHeld of the variance, the last one counted in part.
// Replicates keep the components of the whole sample: without each block, the variance along them.
at::Tensor rank90(const StreamCases& stream) {
  const at::Tensor values = stream.variances().flip(1);  // [cases, d], largest first
  const at::Tensor sums = values.cumsum(1);
  const at::Tensor goal = sums.select(1, -1).unsqueeze(1) * kHeld;
  const at::Tensor whole = (sums < goal).to(at::kLong).sum(1, true).clamp_max(values.size(1) - 1);
  const at::Tensor last = values.gather(1, whole);
  const at::Tensor before = sums.gather(1, whole) - last;
  return at::where(last > 0, whole + (goal - before) / last, kUndefined).squeeze(1);
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

// The largest eigenvalue of the second moments of queries, of their sum.
at::Tensor qfilter(const StreamCases& q) {
  const at::Tensor all = q.products.diagonal(0, 1, 2).sum(1) + q.tokens * q.mean.square().sum(1);
  return at::where(all > 0, leading_second_moment(q) / all, kUndefined);
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
