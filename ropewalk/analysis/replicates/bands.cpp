#include "ropewalk/analysis/replicates/bands.h"

#include <cmath>
#include <numbers>

namespace ropewalk {
namespace {

constexpr double kFullTurn = 2 * std::numbers::pi;

at::Tensor ratio(const at::Tensor& a, const at::Tensor& b) {
  return at::where(b > 0, a / b, kUndefined);
}

Bands measure(const StreamReplicates& stream, const PreRopeReplicates* before,
              const RopeLayer& layer) {
  const auto paired = [&](const at::Tensor& by_dimension) {
    return by_dimension.index_select(1, layer.first) + by_dimension.index_select(1, layer.second);
  };
  const at::Tensor variance =
      paired(stream.products.diagonal(0, 1, 2)) / stream.tokens.unsqueeze(1);
  Bands bands;
  bands.energy = variance + paired(stream.mean.square());
  const at::Tensor energy = bands.energy.sum(1);
  if (layer.turns) {
    bands.centroid = ratio(at::mv(bands.energy, at::log2(kFullTurn / layer.theta)), energy);
    if (layer.context > 0) {
      const at::Tensor low = (layer.theta * layer.context < kFullTurn).to(at::kDouble);
      bands.low_share = ratio(at::mv(bands.energy, low), energy);
    }
  }
  if (before == nullptr) return bands;
  const at::Tensor tokens = before->tokens().unsqueeze(1);
  const at::Tensor mean = (before->sum + before->first_sum) / tokens;
  const at::Tensor still =
      (paired((before->squares + before->first_squares) / tokens - mean.square())) *
      (layer.factor * layer.factor);
  bands.rope_var = layer.turns ? 1 - ratio(still, variance) : at::zeros_like(variance);
  bands.rope_var_share =
      layer.turns ? 1 - ratio(still.sum(1), variance.sum(1)) : at::zeros_like(energy);
  const at::Tensor length = paired(before->sum.square()).sqrt();
  bands.mrl = ratio(length, before->moduli.slice(1, 0, layer.pairs())).clamp_max(1);
  bands.mean_mrl = ratio((bands.energy * bands.mrl.nan_to_num(0)).sum(1), energy);
  return bands;
}

const Bands& bands_of(const StreamReplicates& stream, const PreRopeReplicates* before,
                      const RopeLayer& layer) {
  auto& found = stream.shared->bands;
  if (!found) found = std::make_shared<const Bands>(measure(stream, before, layer));
  return *found;
}

}  // namespace

const Bands& query_bands(const HeadReplicates& head) {
  return bands_of(head.queries, head.rope->queries.get(), *head.rope->layer);
}

const Bands& key_bands(const HeadReplicates& head) {
  return bands_of(head.keys, head.rope->keys.get(), *head.rope->layer);
}

}  // namespace ropewalk
