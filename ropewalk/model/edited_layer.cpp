#include "ropewalk/model/edited_layer.h"

#include <algorithm>

#include "ropewalk/kernels/attention/edited_attention.h"
#include "ropewalk/model/config/slow_pairs.h"
#include "ropewalk/model/head_outputs.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// The edited heads of a document in a layer.
class EditedHeads {
 public:
  EditedHeads(const EditedLayerInput& inside, const Edit& edit)
      : inside_(inside),
        tokens_(static_cast<int64_t>(inside.document.tokens.size())),
        heads_(edited_heads(inside.config, edit, inside.layer, tokens_)) {}

  bool any() const { return !heads_.empty(); }

  // Their outputs from kFirstEdited on, [T - kFirstEdited, heads, d_head].
  at::Tensor outputs(const ScoreEdit& edit) const {
    return std::visit([&](const auto& kind) { return with_scores(change(kind)); }, edit);
  }
  at::Tensor outputs(const VectorEdit& edit) const {
    Projection own = own_vectors(inside_.vectors);
    std::visit([&](const auto& kind) { change(kind, own); }, edit);
    const at::Tensor all = attend(inside_.config, scores(), own);  // [T, heads, 1, d_head]
    return all.slice(0, kFirstEdited).squeeze(2);
  }
  at::Tensor outputs(const OutputEdit& edit) const {
    if (!edit.outputs) return at::zeros({1, count(), inside_.config.d_head});
    const at::Tensor mean = edit.outputs->mean_of_others(inside_.document.index, inside_.layer);
    return mean.index_select(0, at::tensor(heads_, at::kLong)).unsqueeze(0);
  }

  // Copies these outputs into those of all heads.
  void put(const at::Tensor& outputs, const at::Tensor& attended) const {
    for (size_t i = 0; i < heads_.size(); ++i) {
      const at::Tensor target =
          attended.select(1, heads_[i] / group()).select(1, heads_[i] % group());
      target.slice(0, kFirstEdited).copy_(outputs.select(1, static_cast<int64_t>(i)));
    }
  }

 private:
  int64_t group() const { return inside_.config.n_q_heads / inside_.config.n_kv_heads; }
  int64_t count() const { return static_cast<int64_t>(heads_.size()); }
  const LayerConfig& layer() const {
    return inside_.config.layers[static_cast<size_t>(inside_.layer)];
  }
  ScoreOptions scores() const {
    return score_options(inside_.config, layer(), inside_.weights, heads_);
  }

  // [heads, T, d_head] float32 each, in memory of their own.
  Projection own_vectors(const Projection& shared) const {
    std::vector<int64_t> kv_heads;
    for (const int64_t head : heads_) kv_heads.push_back(head / group());
    const auto own = [&](const at::Tensor& x, const std::vector<int64_t>& chosen) {
      return x.index_select(0, at::tensor(chosen, at::kLong).to(x.device())).to(at::kFloat);
    };
    return {own(shared.q, heads_), own(shared.k, kv_heads), own(shared.v, kv_heads)};
  }

  at::Tensor with_scores(const ScoreChange& change) const {
    const Projection own = own_vectors(inside_.vectors);
    return edited_attention(own.q, own.k, own.v, scores(), change);
  }
  ScoreChange change(const DistanceBias& distance) const {
    std::vector<at::Tensor> of_heads;
    for (const int64_t head : heads_) {
      of_heads.push_back(distance.logits.at({inside_.layer, head}).slice(0, 0, tokens_));
    }
    return {
        .first = kFirstEdited, .by_distance = at::stack(of_heads), .keep_mass = distance.keep_mass};
  }
  ScoreChange change(const Window& window) const {
    return {.first = kFirstEdited, .within = window.tokens};
  }

  at::Tensor dimensions(const SlowPairs& slow) const {
    return at::tensor(slow.dimensions, at::kLong).to(inside_.vectors.q.device());
  }
  // Converts one vector to the device and type of `vectors`.
  static at::Tensor like(const at::Tensor& vectors, const at::Tensor& vector) {
    return vector.to(vectors.device(), at::kFloat);
  }

  void change(const StillPairs& still, Projection& own) const {
    const SlowPairs slow = slow_pairs(inside_.config, inside_.layer, still.cut, tokens_);
    const at::Tensor which = dimensions(slow);
    const Projection before = own_vectors(inside_.before_rope);
    const at::Tensor scale = query_scale(inside_.config, tokens_, own.q.device());
    const auto keep_still = [&](const at::Tensor& x, const at::Tensor& unturned) {
      x.slice(1, kFirstEdited).index_copy_(2, which, unturned.slice(1, kFirstEdited));
    };
    const at::Tensor q = before.q.index_select(2, which).mul_(slow.attention_factor);
    keep_still(own.q, scale.defined() ? q * scale.unsqueeze(1) : q);
    keep_still(own.k, before.k.index_select(2, which).mul_(slow.attention_factor));
  }
  void change(const ZeroedPairs& band, Projection& own) const {
    const SlowPairs slow = slow_pairs(inside_.config, inside_.layer, band.cut, tokens_);
    own.q.slice(1, kFirstEdited).index_fill_(2, dimensions(slow), 0);
  }
  void change(const FlattenedDrift& flatten, Projection& own) const {
    const at::Tensor time =
        (at::arange(kFirstEdited, tokens_, at::kDouble) - flatten.mean_position).unsqueeze(1);
    const auto take_drift = [&](const auto& slopes, int64_t head, const at::Tensor& vectors) {
      const auto slope = slopes.find({inside_.layer, head});
      if (slope == slopes.end()) return;
      const at::Tensor drift = time * slope->second.to(at::kDouble).unsqueeze(0);
      vectors.slice(0, kFirstEdited).sub_(like(vectors, drift));
    };
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t head = heads_[static_cast<size_t>(i)];
      take_drift(flatten.q, head, own.q[i]);
      take_drift(flatten.k, head / group(), own.k[i]);
    }
  }
  void change(const RemovedAxis& axis, Projection& own) const {
    const auto take_axis = [](const at::Tensor& vectors, const at::Tensor& along,
                              const at::Tensor& mean) {
      const at::Tensor late = vectors.slice(0, kFirstEdited);
      late.sub_(at::outer(at::mv(late - mean, along), along));
    };
    for (int64_t i = 0; i < count(); ++i) {
      const RemovedAxis::AxisAndMeans& of =
          axis.heads.at({inside_.layer, heads_[static_cast<size_t>(i)]});
      const at::Tensor along = like(own.q, of.axis);
      take_axis(own.q[i], along, like(own.q, of.mean_q));
      take_axis(own.k[i], along, like(own.k, of.mean_k));
    }
  }

  const EditedLayerInput& inside_;
  int64_t tokens_;
  std::vector<int64_t> heads_;
};

}  // namespace

bool needs_before_rope(const Edit& edit) {
  const auto* vectors = std::get_if<VectorEdit>(&edit.what);
  return vectors != nullptr && std::holds_alternative<StillPairs>(*vectors);
}

void edit_outputs(const EditedLayerInput& inside, const Edit& edit, const at::Tensor& attended) {
  const EditedHeads heads(inside, edit);
  if (!heads.any()) return;
  heads.put(std::visit([&](const auto& kind) { return heads.outputs(kind); }, edit.what), attended);
}

int64_t edit_workspace(const ModelConfig& config, const Edit& edit, int64_t tokens,
                       const at::Device& device) {
  int64_t heads = 0;
  for (const auto& [layer, chosen] : edit.heads) {
    heads = std::max(heads, static_cast<int64_t>(chosen.size()));
  }
  if (heads == 0 || std::holds_alternative<OutputEdit>(edit.what)) return 0;
  // Queries, keys and values, also before RoPE, and their outputs.
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const int64_t vectors = 8 * heads * tokens * config.d_head * kSingle;
  return vectors + std::max(edited_attention_workspace(heads, tokens, device),
                            biased_attention_workspace(heads, tokens, config.d_head));
}

}  // namespace ropewalk
