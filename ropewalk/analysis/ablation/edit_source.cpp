#include "ropewalk/analysis/ablation/edit_source.h"

#include <cmath>

#include "ropewalk/analysis/replicates/centre_product.h"
#include "ropewalk/analysis/replicates/turning.h"
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/model/tap.h"
#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

// Captures of sampled vectors have other tokens in every stream.
std::unique_ptr<KeptParts> open_sums(const AnalyzedCapture& capture) {
  return capture.moments.sampled() ? nullptr : open_parts(capture, pre_rope());
}

template <typename Visit>
void for_each_head(const HeadSet& heads, const Visit& visit) {
  for (const auto& [layer, list] : heads) {
    for (const int64_t head : list) visit(LayerHead{layer, head});
  }
}

}  // namespace

EditSource::EditSource(const CaptureMoments& capture, const CaptureFacts& facts, std::string source)
    : capture_(capture),
      facts_(facts),
      source_(std::move(source)),
      described_(capture.info.config.rope),
      queries_(capture.streams(StreamKind::query)),
      keys_(capture.streams(StreamKind::key)),
      sums_(open_sums({capture, no_blocks_, source_})) {
  if (described_) described_->require_fit(facts.origin.head_dim, source_);
}

void EditSource::require(const EditName& edit) const {
  if (edit.needs_sums() && (!sums_ || !described_)) {
    throw InputError(
        "{}: has no sums before RoPE, which the edit '{}' needs; capture it again without "
        "--no-pre-rope",
        source_, edit.text);
  }
  if (edit.needs_sums() && std::isnan(facts_.units.scale)) {
    throw InputError(
        "{}: key 'config.attention_scale' is missing, which the edit '{}' needs; capture it again",
        source_, edit.text);
  }
  if ((edit.needs_moments() || edit.needs_sums()) && capture_.info.point != kPostRope) {
    throw InputError(
        "{}: has vectors '{}', but the edit '{}' needs vectors after RoPE; capture it again",
        source_, capture_.info.point, edit.text);
  }
}

Edit EditSource::make(const EditName& edit, const HeadSet& heads, int64_t tokens) const {
  require(edit);
  Edit made{edit.text, heads, {}};
  switch (edit.kind) {
    case EditName::Kind::distance:
      made.what = ScoreEdit(distance(edit, heads, tokens));
      return made;
    case EditName::Kind::window:
      made.what = ScoreEdit(Window{static_cast<int64_t>(edit.number)});
      return made;
    case EditName::Kind::still:
      made.what = VectorEdit(StillPairs{edit.number});
      return made;
    case EditName::Kind::zero_band:
      made.what = VectorEdit(ZeroedPairs{edit.number});
      return made;
    case EditName::Kind::flatten:
      made.what = VectorEdit(flatten(edit, heads));
      return made;
    case EditName::Kind::axis:
      made.what = VectorEdit(axis(heads));
      return made;
    case EditName::Kind::head:
      break;
  }
  made.what = OutputEdit{};
  return made;
}

int64_t EditSource::row_of(StreamKind kind, const LayerHead& head) const {
  const StreamSet& set = kind == StreamKind::query ? queries_ : keys_;
  const int64_t row = set.find({head.layer, head.head});
  if (row < 0) {
    throw InputError("{}: has no {} of layer {} head {}", source_,
                     kind == StreamKind::query ? "queries" : "keys", head.layer, head.head);
  }
  return row;
}

EditSource::Stream EditSource::stream(StreamKind kind, const LayerHead& head) const {
  const StreamSet& set = kind == StreamKind::query ? queries_ : keys_;
  const int64_t row = row_of(kind, head);
  const BlockCounts all = capture_.counts_of(kind, row).joined();
  Stream found;
  found.tokens = static_cast<double>(all.tokens[0]);
  found.mean = set.total.mean.select(0, row);
  found.drift = set.total.position.select(0, row) / found.tokens;
  found.position_variance = all.position_scatter[0] / found.tokens;
  return found;
}

at::Tensor EditSource::centre(StreamKind kind, const LayerHead& head) const {
  const auto sums = std::any_cast<std::shared_ptr<const PreRopeReplicates>>(
      sums_->part(kind, row_of(kind, head)));
  const at::Tensor mean = sums->centre().select(0, 0);
  if (!mean.isfinite().all().item<bool>()) {
    throw InputError(
        "{}: has no mean before RoPE for layer {} head {}: its documents have no token after the "
        "first {}",
        source_, head.layer, head.head, kFirstTokens);
  }
  return mean;
}

// How a layer turns, and what scales its queries at each distance below `tokens`.
const RopeLayer& EditSource::layer(int64_t layer, int64_t tokens) const {
  const RopeSettings* rope = described_->of_layer(layer);
  const bool turns = !facts_.nope_layers.contains(layer);
  const auto known = layers_.find({rope, turns});
  if (known != layers_.end() && known->second.span == tokens) return known->second;
  RopeLayer made = rope_layer(rope, turns, facts_.origin.head_dim, tokens);
  made.span = tokens;
  const auto& scaling = described_->query_scaling;
  if (scaling && tokens > scaling->original_context) {
    made.every_scaling =
        at::tensor(scaling_by_distance({{tokens, 1}}, tokens, *scaling), at::kDouble);
  }
  return layers_.insert_or_assign({rope, turns}, std::move(made)).first->second;
}

at::Tensor EditSource::turning_logits(const LayerHead& head, int64_t tokens) const {
  const RopeLayer& rope = layer(head.layer, tokens);
  if (rope.constant()) return at::zeros({tokens}, at::kDouble);
  const CentreProduct product = centre_product(rope, centre(StreamKind::query, head).unsqueeze(0),
                                               centre(StreamKind::key, kv_head(head)).unsqueeze(0));
  const at::Tensor found = product_by_distance(product, rope.theta, rope.factor, tokens)[0] *
                           facts_.units.in_layer(head.layer).scale;
  return rope.every_scaling.defined() ? found * rope.every_scaling : found;
}

const at::Tensor& EditSource::distance_logits(const LayerHead& head, int64_t tokens) const {
  at::Tensor& found = logits_[head];
  if (found.defined() && found.size(0) == tokens) return found;
  found = turning_logits(head, tokens);
  if (capture_.info.config.alibi) {
    const at::Tensor slope = alibi_slopes(facts_.origin.n_q_heads)[head.head].to(at::kDouble);
    found = found - slope * at::arange(tokens, at::kDouble);
  }
  return found;
}

DistanceBias EditSource::distance(const EditName& edit, const HeadSet& heads,
                                  int64_t tokens) const {
  DistanceBias bias;
  bias.keep_mass = edit.keep_mass;
  for_each_head(heads,
                [&](const LayerHead& head) { bias.logits[head] = distance_logits(head, tokens); });
  return bias;
}

FlattenedDrift EditSource::flatten(const EditName& edit, const HeadSet& heads) const {
  FlattenedDrift flat;
  flat.mean_position = capture_.counts.joined().position_mean[0];
  for_each_head(heads, [&](const LayerHead& head) {
    const auto slope = [&](StreamKind kind, const LayerHead& one) {
      const Stream found = stream(kind, one);
      return at::Tensor(found.drift / found.position_variance);
    };
    if (edit.q) flat.q[head] = slope(StreamKind::query, head);
    if (edit.k) flat.k[kv_head(head)] = slope(StreamKind::key, kv_head(head));
  });
  return flat;
}

// The drift axis (drift_axis.h): the direction in which queries and keys move together with
// position.
RemovedAxis EditSource::axis(const HeadSet& heads) const {
  RemovedAxis made;
  for_each_head(heads, [&](const LayerHead& head) {
    const Stream q = stream(StreamKind::query, head);
    const Stream k = stream(StreamKind::key, kv_head(head));
    const double share = q.tokens / (q.tokens + k.tokens);
    const at::Tensor drift = share * q.drift + (1 - share) * k.drift;
    const at::Tensor length = drift.norm();
    const bool drifts = length.item<double>() > 0;
    // A head without drift has no drift axis, and the edit then changes nothing.
    made.heads[head] = {drifts ? at::Tensor(drift / length) : at::zeros_like(drift), q.mean,
                        k.mean};
  });
  return made;
}

}  // namespace ropewalk
