// Whether the drift is explained by rotating the mean with position.

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

// The covariance with position that rotation gives to the mean before RoPE: [replicates, d].
at::Tensor predicted(const PreRopeReplicates& before, const RopeLayer& layer,
                     const RopeLayer::TurnCovariance& turn) {
  const at::Tensor mean = (before.sum + before.first_sum) / before.tokens().unsqueeze(1);
  const at::Tensor first = mean.index_select(1, layer.first);
  const at::Tensor second = mean.index_select(1, layer.second);
  const at::Tensor real = turn.real.slice(1, 0, layer.pairs()) * layer.factor;
  const at::Tensor imaginary = turn.imaginary.slice(1, 0, layer.pairs()) * layer.factor;
  at::Tensor found = at::empty_like(mean);
  found.index_copy_(1, layer.first, first * real - second * imaginary);
  found.index_copy_(1, layer.second, first * imaginary + second * real);
  found.index_copy_(1, layer.rest,
                    mean.index_select(1, layer.rest) * turn.real.slice(1, layer.pairs()));
  return found;
}

// The cosine and the share in each replicate: [replicates, 2].
at::Tensor compare(const StreamReplicates& stream, const PreRopeReplicates& before,
                   const RopeLayer& layer, const RopeLayer::TurnCovariance& turn) {
  const at::Tensor drift = stream.drift(), guess = predicted(before, layer, turn);
  const at::Tensor both = row_dot(drift, guess), own = row_dot(drift, drift);
  const at::Tensor sizes = (own * row_dot(guess, guess)).sqrt();
  return at::stack({at::where(sizes > 0, (both / sizes).clamp(-1, 1), kUndefined),
                    at::where(own > 0, both / own, kUndefined)},
                   1);
}

bool has_turn(const HeadReplicates& head) {
  return head.rope && head.rope->has_sums() && head.rope->layer->keys.real.defined();
}

at::Tensor compute(const HeadReplicates& head) {
  if (!has_turn(head)) return at::full({head.blocks() + 1, 4}, kUndefined, at::kDouble);
  const RopeReplicates& rope = *head.rope;
  const at::Tensor q = compare(head.queries, *rope.queries, *rope.layer, rope.layer->queries);
  const at::Tensor k = compare(head.keys, *rope.keys, *rope.layer, rope.layer->keys);
  return at::stack({q.select(1, 0), k.select(1, 0), q.select(1, 1), k.select(1, 1)}, 1);
}

}  // namespace

const std::vector<Statistic>& rope_drift() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("drift_rope_cos_q", "drift of queries as the turning mean, cosine",
                        Hue::queries,
                        "cosine of the covariance of queries with position and the one that their "
                        "mean before RoPE would have if it only turned",
                        ChangeScale::correlation, -1, 1),
         head_statistic("drift_rope_cos_k", "drift of keys as the turning mean, cosine", Hue::keys,
                        "cosine of the covariance of keys with position and the one that their "
                        "mean before RoPE would have if it only turned",
                        ChangeScale::correlation, -1, 1),
         head_statistic("drift_rope_share_q", "drift of queries from the turning mean",
                        Hue::queries,
                        "share of the covariance of queries with position that their mean before "
                        "RoPE has by turning; the rest is position in the vectors before RoPE",
                        ChangeScale::part, -kAny, kAny, true),
         head_statistic("drift_rope_share_k", "drift of keys from the turning mean", Hue::keys,
                        "share of the covariance of keys with position that their mean before "
                        "RoPE has by turning; the rest is position in the vectors before RoPE",
                        ChangeScale::part, -kAny, kAny, true)});
    list.front().flags = {{"no_lengths",
                           "The capture does not state how long its documents are: how far the "
                           "mean turns is not known.",
                           [](const HeadReplicates& head) {
                             return head.rope && head.rope->has_sums() && !has_turn(head);
                           }}};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
