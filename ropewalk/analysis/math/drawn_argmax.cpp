#include "ropewalk/analysis/math/drawn_argmax.h"

#include <limits>
#include <map>
#include <vector>

#include "ropewalk/analysis/math/resampling.h"

namespace ropewalk {
namespace {

// How often blocks are drawn, less once each: [draws, blocks].
const at::Tensor& draws(size_t blocks) {
  thread_local std::map<size_t, at::Tensor> known;
  at::Tensor& found = known[blocks];
  if (found.defined()) return found;
  std::vector<double> counts;
  for (const std::vector<int>& draw : block_draws(blocks)) {
    counts.insert(counts.end(), draw.begin(), draw.end());
  }
  found = at::tensor(counts, at::kDouble).reshape({kResamples, -1}) - 1;
  return found;
}

}  // namespace

// A point that no draw can make the largest, as draws move it by at most their length times its own
// parts', is not drawn.
at::Tensor drawn_argmax(const at::Tensor& curves) {
  constexpr int64_t kAtOnce = 4096;
  const int64_t blocks = curves.size(0) - 1;
  const auto g = static_cast<double>(blocks);
  const at::Tensor parts = (curves.slice(0, 0, 1) - curves.slice(0, 1)) * ((g - 1) / g);
  const at::Tensor& weights = draws(static_cast<size_t>(blocks));
  const at::Tensor reach = parts.square().sum(0).sqrt() * weights.square().sum(1).max().sqrt();
  const at::Tensor likely = curves[0] + reach >= (curves[0] - reach).max();
  const at::Tensor left = likely.nonzero().squeeze(1);
  at::Tensor best = at::zeros({kResamples}, at::kLong);
  at::Tensor highest =
      at::full({kResamples}, -std::numeric_limits<double>::infinity(), at::kDouble);
  for (int64_t from = 0; from < left.size(0); from += kAtOnce) {
    const at::Tensor some = left.slice(0, from, from + kAtOnce);
    const at::Tensor drawn =
        at::mm(weights, parts.index_select(1, some)) + curves[0].index_select(0, some);
    const auto [high, at] = drawn.max(1);
    best = at::where(high > highest, some.index_select(0, at), best);
    highest = at::maximum(high, highest);
  }
  return best;
}

}  // namespace ropewalk
