#include "ropewalk/analysis/replicates/rope_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/turning.h"
#include "ropewalk/kernels/moments/lags.h"
#include "ropewalk/model/config/rope_frequencies.h"
#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

at::Tensor row_of(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

// The mean over distances from `begin` to before `end` of `scaling` times e^(i theta distance).
std::pair<at::Tensor, at::Tensor> mean_turn_of(const at::Tensor& theta, int64_t begin, int64_t end,
                                               const std::vector<double>& scaling) {
  const auto count = static_cast<double>(end - begin);
  if (scaling.empty()) {
    // A geometric sum: sin(n theta / 2) / sin(theta / 2), turned by the middle distance.
    const at::Tensor half = theta / 2, sine = half.sin();
    const at::Tensor size =
        at::where(sine.abs() > 1e-12, (half * count).sin() / (sine * count), 1.0);
    const at::Tensor angle = theta * (static_cast<double>(begin + end - 1) / 2);
    return {size * angle.cos(), size * angle.sin()};
  }
  constexpr int64_t kAtOnce = 4096;
  at::Tensor cosines = at::zeros_like(theta), sines = at::zeros_like(theta);
  for (int64_t from = begin; from < end; from += kAtOnce) {
    const int64_t to = std::min(end, from + kAtOnce);
    const at::Tensor angles = at::outer(theta, at::arange(from, to, at::kDouble));
    const at::Tensor weights =
        row_of({scaling.begin() + from, scaling.begin() + to}) / count;  // [to - from]
    cosines += at::mv(angles.cos(), weights);
    sines += at::mv(angles.sin(), weights);
  }
  return {cosines, sines};
}

}  // namespace

void set_distances(RopeLayer& layer, const std::vector<double>& scaling) {
  if (!(layer.context > kFirstTokens)) return;
  const auto context = static_cast<int64_t>(layer.context);
  const int64_t end = context - kFirstTokens;
  layer.lags = lags_below(end);
  std::vector<double> scales;
  for (const int64_t lag : layer.lags) {
    scales.push_back(scaling.empty() ? 1 : scaling[static_cast<size_t>(lag)]);
  }
  layer.scaling = row_of(scales);
  const at::Tensor angles =
      at::outer(layer.theta, row_of(std::vector<double>(layer.lags.begin(), layer.lags.end())));
  layer.cosines = angles.cos() * layer.scaling;
  layer.sines = angles.sin() * layer.scaling;
  // What does not turn has the angle 0.
  const at::Tensor theta = at::cat({layer.theta, at::zeros({1}, at::kDouble)});
  const int64_t far = (context + 3) / 4;
  const auto near = mean_turn_of(theta, 0, std::min(kNearDistance + 1, end), scaling);
  const auto away = far < end ? mean_turn_of(theta, far, end, scaling)
                              : std::pair(at::full_like(theta, kNone), at::full_like(theta, kNone));
  layer.near_cosines = (near.first - away.first).slice(0, 0, layer.pairs());
  layer.near_sines = (near.second - away.second).slice(0, 0, layer.pairs());
  layer.near_scaling = (near.first - away.first)[layer.pairs()].item<double>();
}

RopeLayer rope_layer(const RopeSettings* rope, bool turns, int64_t head_dim, int64_t tokens) {
  const int64_t dim = rope == nullptr ? head_dim : rope->rotary_dim;
  const at::Tensor f = at::arange(dim / 2, at::kLong);
  const bool interleaved = rope != nullptr && rope->interleaved;
  RopeLayer layer;
  layer.turns = turns && rope != nullptr;
  layer.first = interleaved ? 2 * f : f;
  layer.second = interleaved ? 2 * f + 1 : f + dim / 2;
  layer.rest = at::arange(dim / 2 * 2, head_dim, at::kLong);
  layer.theta = at::zeros({dim / 2}, at::kDouble);
  layer.context = kNone;
  if (layer.turns) {
    const RopeFrequencies found = rope_frequencies(*rope, tokens);
    layer.theta = found.angles.to(at::kDouble);
    layer.factor = found.attention_factor;
  }
  return layer;
}

RopeSource::RopeSource(const CaptureMoments& moments, const std::set<int64_t>& nope_layers,
                       const std::vector<int64_t>& blocks, const std::string& source)
    : moments_(moments), blocks_(blocks), lengths_(document_lengths(moments)) {
  head_dim_ = moments.accumulated.front().total.front().size(1);
  const std::optional<DescribedRope>& described = moments.info.config.rope;
  if (!described) return;
  described->require_fit(head_dim_, source);
  std::map<std::pair<const RopeSettings*, bool>, std::shared_ptr<const RopeLayer>> made;
  for (const StreamId& id : moments.queries) {
    const bool turns = !nope_layers.contains(id.layer);
    auto& layer = made[{described->of_layer(id.layer), turns}];
    if (!layer) layer = make_layer(*described, id.layer, turns);
    layers_[id.layer] = layer;
  }
}

std::shared_ptr<const RopeLayer> RopeSource::make_layer(const DescribedRope& described,
                                                        int64_t layer, bool turns) const {
  const RopeSettings* rope = described.of_layer(layer);
  const int64_t context = moments_.info.context;
  const int64_t longest = lengths_ ? lengths_->all.rbegin()->first : context;
  auto made = std::make_shared<RopeLayer>(rope_layer(rope, turns, head_dim_, longest));
  if (context > 0) made->context = static_cast<double>(context);
  // Angles change with the length in one direction: those of the shortest document differ first.
  if (made->turns && lengths_) {
    const auto shortest = rope_frequencies(*rope, lengths_->all.begin()->first);
    made->by_length = !shortest.angles.to(at::kDouble).equal(made->theta);
  }
  const auto& scaling = described.query_scaling;
  const bool scales =
      scaling && lengths_ && longest > scaling->original_context && context <= kLongestDocument;
  if (lengths_) {
    made->keys = mean_turn(made->theta, *lengths_, blocks_, nullptr);
    made->queries = scales ? mean_turn(made->theta, *lengths_, blocks_, &*scaling) : made->keys;
  }
  set_distances(*made,
                scales ? scaling_by_distance(lengths_->all, std::max(longest, context), *scaling)
                       : std::vector<double>{});
  return made;
}

std::shared_ptr<const RopeLayer> RopeSource::layer(int64_t layer) const {
  const auto found = layers_.find(layer);
  return found == layers_.end() ? nullptr : found->second;
}

}  // namespace ropewalk
