// PC0 of queries and keys about their own means: what remains of it without the offset.

#include "ropewalk/analysis/replicates/head_axes.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const HeadAxes& axes = head_axes(head);
  const at::Tensor weight = head.share_q() * head.share_k();
  const at::Tensor all = head.variance() - weight * row_dot(head.offset(), head.offset());
  const at::Tensor share = at::where(all > 0, axes.within_values / all, kUndefined);
  return at::stack(
      {share, correlation_along(head.queries, axes.within, axes.q_variance.select(1, 0)),
       correlation_along(head.keys, axes.within, axes.k_variance.select(1, 0))},
      1);
}

bool near_tie(const HeadReplicates& head) {
  return head.widest.next_within > kNearTie * head.widest.within_values[0].item<double>();
}

}  // namespace

const std::vector<Statistic>& within_classes() {
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic(
             "within_ev", "variance of PC0 within", Hue::both,
             "share of the variance of queries and keys about their own means that their "
             "first component has",
             ChangeScale::share, 0, 1),
         with_absolute(head_statistic(
             "within_r_q", "r_q within", Hue::queries,
             "correlation of queries with token position along the first component of queries and "
             "keys about their own means",
             ChangeScale::correlation, -1, 1)),
         with_absolute(head_statistic(
             "within_r_k", "r_k within", Hue::keys,
             "correlation of keys with token position along the first component of queries and "
             "keys about their own means",
             ChangeScale::correlation, -1, 1))});
    list.front().flags = {{"near_tie_within",
                           "Another direction within queries and keys is nearly as wide as the "
                           "first one; the two trade places easily.",
                           near_tie}};
    for (Statistic& one : list) {
      if (one.key != "within_ev") one.sign = Sign::rule;
    }
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
