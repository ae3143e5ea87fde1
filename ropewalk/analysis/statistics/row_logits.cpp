// How large logits are, of some rows of attention.

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/analysis/statistics/row_statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  if (!rows) return at::full({head.blocks() + 1, 1}, kUndefined, at::kDouble);
  return rows->mean_over_rows(RowNumber::largest).unsqueeze(1);
}

// Extremes have no standard error, so they are those of the whole sample alone.
at::Tensor extremes(const HeadReplicates& head) {
  at::Tensor numbers = at::full({1, 3}, kUndefined, at::kDouble);
  const auto rows = row_replicates(head);
  const auto key = head.keys.input.part<LongestKey>("rows");
  if (!rows || !key) return numbers;
  const at::Tensor count = rows->sum(RowNumber::rows)[0];
  if (count.item<double>() > 0) numbers[0][0] = rows->largest;
  numbers[0][1] = head.units.scale * rows->longest * key->length;
  numbers[0][2] = count;
  return numbers;
}

}  // namespace

const std::vector<Statistic>& row_logits() {
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = of_rows(computed_by(
        compute, {head_statistic("logit_max", "largest logit of a row", Hue::both,
                                 "mean over tokens of the largest logit of the keys that they see",
                                 ChangeScale::plain, -kAnyRow, kAnyRow)}));
    std::vector<Statistic> extreme = of_rows(computed_by(
        extremes,
        {head_statistic("logit_peak", "largest logit of all", Hue::both,
                        "largest logit in the `n_rows` rows that were measured", ChangeScale::plain,
                        -kAnyRow, kAnyRow),
         head_statistic("logit_bound", "bound of logits", Hue::both,
                        "softmax scale times the lengths of the longest query and the longest key "
                        "of all tokens: no logit is larger, and most are far smaller",
                        ChangeScale::size, -kAnyRow, kAnyRow),
         head_statistic("n_rows", "rows of attention", Hue::both,
                        "rows of attention that were measured", ChangeScale::size, 0, kAnyRow)}));
    for (Statistic& one : extreme) {
      one.error = false;
      one.views.clear();  // means and ranks of them say nothing
      list.push_back(one);
    }
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
