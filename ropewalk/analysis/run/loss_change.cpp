#include "ropewalk/analysis/run/loss_change.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

bool same_parts(const std::vector<LossPart>& a, const std::vector<LossPart>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LossPart& x, const LossPart& y) { return x.key == y.key; });
}

// How much a part's sum differs from its tokens times the mean over all parts, per token of the
// whole.
double residual(const LossPart& part, const LossRow& all) {
  return (part.loss - all.loss * static_cast<double>(part.tokens)) /
         static_cast<double>(all.tokens);
}

}  // namespace

Change loss_change(const CheckpointTable& from, const CheckpointTable& to) {
  Change change{std::nan(""), std::nan(""), 0};
  if (from.loss.empty() || to.loss.empty()) return change;
  const LossRow &before = from.loss.front(), &after = to.loss.front();
  change.value = after.loss - before.loss;
  change.se = std::hypot(before.se, after.se);
  change.df = static_cast<double>(std::min(before.groups, after.groups)) - 1;
  const bool paired = pairing(from, to).paired && same_parts(from.loss_parts, to.loss_parts);
  if (!paired || change.df < 1) return change;
  double squares = 0;
  for (size_t i = 0; i < to.loss_parts.size(); ++i) {
    const double moved = residual(to.loss_parts[i], after) - residual(from.loss_parts[i], before);
    squares += moved * moved;
  }
  change.se = std::sqrt((change.df + 1) / change.df * squares);
  return change;
}

}  // namespace ropewalk
