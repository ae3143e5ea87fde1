#include "ropewalk/analysis/replicates/rope_distances.h"

#include <algorithm>

#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

constexpr int64_t kAtOnce = 4096;  // distances whose angles are held

// Of documents of these lengths: pairs at each distance below `end`.
std::vector<double> count_pairs(const LengthCounts& lengths, int64_t end) {
  std::vector<double> found(static_cast<size_t>(end), 0.0);
  auto document = lengths.rbegin();
  double documents = 0, pairs = 0;  // that reach past the distance, and theirs
  for (int64_t at = std::max(end, lengths.rbegin()->first) - 1; at >= 0; --at) {
    for (; document != lengths.rend() && document->first - kFirstTokens > at; ++document) {
      documents += static_cast<double>(document->second);
    }
    pairs += documents;
    if (at < end) found[static_cast<size_t>(at)] = pairs;
  }
  return found;
}

// The shares of a window's distances, by case: [replicates, distances]. Where a case has no pair
// there, all of them count alike.
at::Tensor shares_in(const DistanceWindow& window, const at::Tensor& pairs) {
  const at::Tensor some = pairs.slice(1, window.begin, window.end);
  const at::Tensor all = some.sum(1, true);
  return at::where(all > 0, some / all, 1.0 / static_cast<double>(window.end - window.begin));
}

}  // namespace

at::Tensor pairs_by_distance(const std::optional<DocumentLengths>& lengths,
                             const std::vector<int64_t>& blocks, int64_t context, int64_t end) {
  const LengthCounts all = lengths ? lengths->all : LengthCounts{{context, 1}};
  std::vector<at::Tensor> rows{at::tensor(count_pairs(all, end), at::kDouble)};
  // Documents of one length have the same shares in every case.
  const bool alike = all.size() == 1 || lengths->of_block.empty();
  for (size_t i = 0; i < blocks.size() && !alike; ++i) {
    const LengthCounts& block = lengths->of_block[static_cast<size_t>(blocks[i])];
    const at::Tensor own =
        block.empty() ? at::zeros_like(rows[0]) : at::tensor(count_pairs(block, end), at::kDouble);
    rows.push_back(rows[0] - own);
  }
  return at::stack(rows);
}

void set_distances(RopeLayer& layer, LayerDistances distances) {
  layer.windows = std::move(distances.windows);
  layer.span = distances.span;
  const at::Tensor scales = at::tensor(distances.scaling, at::kDouble);
  if (!distances.scaling.empty()) {
    const at::Tensor every = scales.slice(0, 0, layer.span);
    if (!every.equal(at::ones_like(every))) layer.every_scaling = every;
  }
  const int64_t cases = distances.pairs.size(0), pairs = layer.pairs();
  const auto count = static_cast<int64_t>(layer.windows.size());
  layer.cosines = at::zeros({cases, pairs, count}, at::kDouble);
  layer.sines = at::zeros({cases, pairs, count}, at::kDouble);
  layer.scaling = at::zeros({cases, count}, at::kDouble);
  layer.distances = at::zeros({cases, count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    const DistanceWindow& window = layer.windows[static_cast<size_t>(i)];
    const at::Tensor shares = shares_in(window, distances.pairs);
    for (int64_t from = window.begin; from < window.end; from += kAtOnce) {
      const int64_t to = std::min(from + kAtOnce, window.end);
      const at::Tensor at = at::arange(from, to, at::kDouble);
      const at::Tensor some = shares.slice(1, from - window.begin, to - window.begin);
      layer.distances.select(1, i).add_(at::mv(some, at));
      const at::Tensor scaled =
          distances.scaling.empty() ? some : at::Tensor(some * scales.slice(0, from, to));
      layer.scaling.select(1, i).add_(scaled.sum(1));
      const at::Tensor angles = at::outer(at, layer.theta);  // [distances, pairs]
      layer.cosines.select(2, i).add_(at::mm(scaled, angles.cos()));
      layer.sines.select(2, i).add_(at::mm(scaled, angles.sin()));
    }
  }
}

}  // namespace ropewalk
