// What heads attend to: exact probabilities of some rows of attention.

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/analysis/statistics/row_statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  if (!rows) return at::full({head.blocks() + 1, 9}, kUndefined, at::kDouble);
  using Row = RowNumber;
  // A model without learned sinks gives them nothing.
  const at::Tensor sinks = rows->sum(Row::learned)[0] > 0;
  const at::Tensor learned = at::where(sinks, rows->mean_over_rows(Row::learned), kUndefined);
  return at::stack(
      {rows->mean_over_rows(Row::sink), rows->mean_over_rows(Row::first4), learned,
       rows->mean_over_rows(Row::self), rows->ratio(Row::previous, Row::previous_rows),
       rows->ratio(Row::echo, Row::echo_rows), rows->ratio(Row::echo, Row::echo_chance),
       rows->ratio(Row::copy, Row::copy_rows), rows->ratio(Row::copy, Row::copy_chance)},
      1);
}

}  // namespace

const std::vector<Statistic>& row_targets() {
  static const std::vector<Statistic> kStatistics = of_rows(computed_by(
      compute,
      {row_share("sink", "attention to the first token",
                 "mean of what a token's attention gives to the first token of the document"),
       row_share("first4", "attention to the first four tokens",
                 "mean of what a token's attention gives to the first four tokens of the document"),
       row_share("sink_learned", "attention to the learned sink",
                 "mean of what a token's attention gives to the head's learned sink, to which no "
                 "value belongs"),
       row_share("self", "attention to the token itself",
                 "mean of what a token's attention gives to the token itself"),
       row_share("previous", "attention to the token before",
                 "mean of what a token's attention gives to the token before it"),
       row_share("echo", "attention to the same token",
                 "mean of what a token's attention gives to earlier tokens that are the same, "
                 "where there are such tokens"),
       row_lift("echo_lift", "lift of the same token",
                "what tokens' attention gives to earlier tokens that are the same, over what it "
                "would give them if all tokens but the first four got the same: 1 where it makes "
                "no difference"),
       row_share("after_copy", "attention behind the same token",
                 "mean of what a token's attention gives to tokens that follow an earlier "
                 "occurrence of it, where there are such tokens: what an induction head does"),
       row_lift("after_copy_lift", "lift behind the same token",
                "what tokens' attention gives to tokens that follow an earlier occurrence of them, "
                "over what it would give them if all tokens but the first four got the same: 1 "
                "where it makes no difference")}));
  return kStatistics;
}

}  // namespace ropewalk::statistic
