#include "ropewalk/analysis/replicates/rope_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "ropewalk/analysis/replicates/rope_distances.h"
#include "ropewalk/analysis/replicates/turning.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/model/config/rope_frequencies.h"
#include "ropewalk/moments/accumulators/lags.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// How far the attention of a layer slides; nothing where it does not.
std::optional<int64_t> sliding_window(const ModelDescription& config, int64_t layer) {
  const auto found = config.sliding_windows.find(layer);
  if (found == config.sliding_windows.end()) return std::nullopt;
  return found->second;
}

}  // namespace

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
                       const std::vector<int64_t>& blocks, const std::string& source, int64_t span)
    : moments_(moments), span_(span), blocks_(blocks), lengths_(document_lengths(moments)) {
  head_dim_ = moments.accumulated.front().total.front().size(1);
  const ModelDescription& config = moments.info.config;
  const std::optional<DescribedRope>& described = config.rope;
  if (!described) return;
  described->require_fit(head_dim_, source);
  std::map<std::tuple<const RopeSettings*, bool, std::optional<int64_t>>,
           std::shared_ptr<const RopeLayer>>
      made;
  for (const StreamId& id : moments.queries) {
    const bool turns = !nope_layers.contains(id.layer);
    const auto window = sliding_window(config, id.layer);
    auto& layer = made[{described->of_layer(id.layer), turns, window}];
    if (!layer) layer = make_layer(*described, id.layer, turns, window);
    layers_[id.layer] = layer;
  }
  if (config.alibi) {
    const at::Tensor slopes = alibi_slopes(config.n_q_heads).to(at::kDouble);
    const double* data = slopes.const_data_ptr<double>();
    slopes_.assign(data, data + slopes.numel());
  }
}

std::shared_ptr<const RopeLayer> RopeSource::make_layer(const DescribedRope& described,
                                                        int64_t layer, bool turns,
                                                        std::optional<int64_t> sliding) const {
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
  LayerDistances distances;
  CaptureShape shape = shape_of(moments_.info, moments_.documents, 0);
  shape.keep.lags = true;  // predictions come from sums before RoPE
  distances.windows = capture_windows(shape, sliding);
  if (distances.windows.empty() || context > kLongestDocument) return made;
  const int64_t end = distances.windows.back().end;
  distances.pairs = pairs_by_distance(lengths_, blocks_, context, end);
  distances.span = std::min({span_ > 0 ? span_ : context, context, sliding.value_or(context)});
  if (scales) {
    distances.scaling = scaling_by_distance(lengths_->all, std::max(end, distances.span), *scaling);
  }
  set_distances(*made, std::move(distances));
  return made;
}

double RopeSource::slope(int64_t q_head) const {
  return slopes_.empty() ? 0 : slopes_.at(static_cast<size_t>(q_head));
}

std::shared_ptr<const RopeLayer> RopeSource::layer(int64_t layer) const {
  const auto found = layers_.find(layer);
  return found == layers_.end() ? nullptr : found->second;
}

}  // namespace ropewalk
