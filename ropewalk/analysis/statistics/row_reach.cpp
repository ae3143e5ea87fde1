// How far heads look: exact probabilities of some rows of attention. curves.csv has them by
// distance.

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/analysis/statistics/row_statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  if (!rows) return at::full({head.blocks() + 1, 6}, kUndefined, at::kDouble);
  std::vector<at::Tensor> numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(std::size(kFar)); ++i) {
    numbers.push_back(rows->ratio(RowNumber::far + i, RowNumber::far_rows + i));
  }
  numbers.push_back(rows->mean_over_rows(RowNumber::entropy));
  numbers.push_back(rows->ratio(RowNumber::reach, RowNumber::late));
  return at::stack(numbers, 1);
}

Statistic far(int64_t tokens) {
  const std::string n = std::to_string(tokens);
  return row_share("far" + n, "attention beyond " + n + " tokens",
                   "mean of what a token's attention gives to tokens more than " + n +
                       " before it, without the first four of the document, of tokens from "
                       "position " +
                       std::to_string(2 * tokens) + " on");
}

}  // namespace

const std::vector<Statistic>& row_reach() {
  static const std::vector<Statistic> kStatistics = of_rows(computed_by(
      compute,
      {far(kFar[0]), far(kFar[1]), far(kFar[2]), far(kFar[3]),
       head_statistic("entropy", "entropy of attention", Hue::both,
                      "mean entropy of a token's attention, in nats, of which a learned sink is "
                      "one outcome",
                      ChangeScale::plain, 0, kAnyRow),
       head_statistic("reach", "reach of attention", Hue::both,
                      "mean of the base-2 logarithm of 1 plus the distance, weighted by attention, "
                      "over all tokens but the first four of the document",
                      ChangeScale::plain, 0, kAnyRow, true)}));
  return kStatistics;
}

}  // namespace ropewalk::statistic
