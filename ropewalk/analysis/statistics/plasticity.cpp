// Whether content or position decides which key a query prefers. curves.csv has the same by
// position.

#include "ropewalk/analysis/replicates/plasticity.h"

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

// Means over the buckets that are defined for the whole sample: all, the first fifth, the last
// fifth, and the first fifth less the last.
at::Tensor compute(const HeadReplicates& head) {
  at::Tensor numbers = at::full({head.blocks() + 1, 4}, kUndefined, at::kDouble);
  const at::Tensor& curve = head_plasticity(head);
  if (!curve.defined()) return numbers;
  const at::Tensor known = curve[0].isnan().logical_not().nonzero().flatten();
  const int64_t count = known.size(0);
  if (count == 0) return numbers;
  const at::Tensor values = curve.index_select(1, known);
  constexpr int64_t kParts = 5;
  const int64_t part = (count + kParts - 1) / kParts;
  const at::Tensor first = values.narrow(1, 0, part).mean(1);
  const at::Tensor last = values.narrow(1, count - part, part).mean(1);
  numbers.select(1, 0).copy_(values.mean(1));
  numbers.select(1, 1).copy_(first);
  numbers.select(1, 2).copy_(last);
  numbers.select(1, 3).copy_(first - last);
  return numbers;
}

Statistic within_one(Statistic statistic) {
  statistic.views.front().high = 1;
  return statistic;
}

}  // namespace

const std::vector<Statistic>& plasticity() {
  // An unbiased estimate of a number that is at most 1 may be above 1.
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = computed_by(
        compute,
        {within_one(head_statistic(
             "ap_overall", "plasticity", Hue::both,
             "how often two queries near one position rank the same two earlier keys of another "
             "document differently, times two, mean over positions (1: content decides; 0: fixed "
             "order)",
             ChangeScale::share, 0, 2, true)),
         within_one(head_statistic(
             "ap_first20", "plasticity at first positions", Hue::both,
             "plasticity, as in `ap_overall`, over the first fifth of the positions in curves.csv",
             ChangeScale::share, 0, 2)),
         within_one(head_statistic(
             "ap_last20", "plasticity at last positions", Hue::both,
             "plasticity, as in `ap_overall`, over the last fifth of the positions in curves.csv",
             ChangeScale::share, 0, 2)),
         head_statistic("ap_drop", "loss of plasticity", Hue::both, "`ap_first20` less `ap_last20`",
                        ChangeScale::part, -2, 2)});
    list.back().views.front().low = -1;
    list.back().views.front().high = 1;
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
