// What attention sees: the logits of random pairs of queries and keys, and what position adds to
// them.

#include <cmath>

#include "ropewalk/analysis/replicates/head_axes.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const StreamReplicates &q = head.queries, &k = head.keys;
  const HeadAxes& axes = head_axes(head);
  const at::Tensor slope = k.slope();
  // tr(Σ_k Q) with Q = Σ_q + μ_q μ_qᵀ, the second moments of queries.
  const at::Tensor joint = matrix_dot(k.products, q.products) / (k.tokens * q.tokens);
  const at::Tensor variance = joint + axes.k_variance.select(1, 3);
  const at::Tensor linear =
      k.position_variance() * (axes.q_variance.select(1, 3) + row_dot(q.mean, slope).square());
  const at::Tensor share = at::where(variance > 0, linear / variance, kUndefined);
  const double scale = head.units.scale;
  return at::stack({share, scale * variance.clamp_min(0).sqrt(), scale * row_dot(q.mean, k.mean)},
                   1);
}

}  // namespace

const std::vector<Statistic>& logits() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("logit_pos_share", "share of position in logits", Hue::both,
                        "share of the variance of a query's logits that is linear in the key's "
                        "position, over queries and keys of different documents",
                        ChangeScale::share, 0, 1, true),
         head_statistic("logit_sd", "SD of logits", Hue::both,
                        "standard deviation of a query's logits, over queries and keys of "
                        "different documents",
                        ChangeScale::size, 0, kAny),
         head_statistic("logit_const", "constant logit", Hue::both,
                        "logit of the mean query and the mean key", ChangeScale::plain, -kAny,
                        kAny)});
    list.front().list_changes = true;
    list.front().figure.name = "how_positional";
    list.front().views[0].hint = "part of their variance that is linear in key position";
    list.front().views[0].line = {"position in logits", "diamond"};
    list.back().flags = {
        {"no_scale", "The capture does not state the softmax scale: numbers in logits are empty.",
         [](const HeadReplicates& head) { return std::isnan(head.units.scale); }}};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
