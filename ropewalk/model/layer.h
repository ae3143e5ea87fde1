#pragma once

#include <functional>
#include <span>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/model/weights.h"

namespace ropewalk {

// A document's queries, keys and values in one layer, after q/k norm and before RoPE:
// q [n_q_heads, T, d_head], k and v [n_kv_heads, T, d_head]; v is undefined in the last layer.
struct Projection {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

// hidden [T, d_model] → Projection. `raw` is called with it before q/k norm.
Projection project(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& hidden,
                   const std::function<void(const Projection&)>& raw = {});

// Applies RoPE (where the layer has it; `table` may be null otherwise) and query scaling, which
// gives the vectors of the dot product. With `keep` the vectors before RoPE stay, otherwise they
// are overwritten.
void apply_position(const ModelConfig& config, const LayerConfig& layer, const RopeTable* table,
                    Projection& projection, bool keep);

// Tokens begin … end - 1 of a projection.
Projection slice(const Projection& projection, int64_t begin, int64_t end);

// The score options of some query heads, or of all heads where none are given.
ScoreOptions score_options(const ModelConfig& config, const LayerConfig& layer,
                           const LayerWeights& weights, std::span<const int64_t> heads = {});
// The outputs of these heads for one document; heads may have keys and values of their own or share
// them: [T, KV heads, query heads of each, d_head].
at::Tensor attend(const ModelConfig& config, const ScoreOptions& scores,
                  const Projection& document);

// The factors of queries at positions 0 … tokens - 1 after RoPE, [tokens] float32; undefined where
// there are none.
at::Tensor query_scale(const ModelConfig& config, int64_t tokens, const at::Device& device);

// Computes the rest of the layer: output projection of the heads' outputs `attended` [T, ..,
// d_head], MLP, residuals. Returns [T, d_model]. A mixture's experts are left to add_experts().
at::Tensor finish_layer(const ModelConfig& config, const LayerConfig& layer,
                        const LayerWeights& weights, at::Tensor hidden, const at::Tensor& attended);

// The most bytes of the device that one document of `tokens` needs inside a layer, besides its
// hidden state; `collector_bytes` of them belong to a collector.
int64_t layer_workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                        const at::Device& device, int64_t collector_bytes);

}  // namespace ropewalk
