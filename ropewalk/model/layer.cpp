#include "ropewalk/model/layer.h"

#include <algorithm>

#include "ropewalk/kernels/attention.h"

namespace ropewalk {
namespace {

at::Tensor norm(const ModelConfig& config, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias = {}) {
  if (!weight.defined()) return x;
  if (config.norm == NormKind::layer) return layer_norm(x, weight, bias, config.norm_eps);
  return rms_norm(x, weight, config.norm_eps, config.norm == NormKind::rms_plus_one);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

at::Tensor mlp(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  at::Tensor inner = linear(x, weights.gate_up, weights.gate_up_bias);
  if (weights.gate_up.size(0) == 2 * config.d_mlp) {
    const at::Tensor gate = activate(inner.slice(1, 0, config.d_mlp), config.activation);
    inner = gate * inner.slice(1, config.d_mlp);
  } else if (config.activation == Activation::xielu) {
    inner = xielu(inner, {weights.alpha_p, weights.alpha_n, weights.beta, weights.eps});
  } else {
    inner = activate(inner, config.activation);
  }
  return linear(inner, weights.down, weights.down_bias);
}

}  // namespace

Projection project(const ModelConfig& config, const LayerWeights& weights,
                   const at::Tensor& hidden) {
  const int64_t tokens = hidden.size(0);
  const at::Tensor input = norm(config, hidden, weights.attn_norm, weights.attn_norm_bias);
  const at::Tensor all = linear(input, weights.qkv, weights.qkv_bias);  // [T, widths]
  at::Tensor q = all.slice(1, 0, config.q_width());
  at::Tensor k = all.slice(1, config.q_width(), config.q_width() + config.kv_width());
  const bool plus_one = config.norm == NormKind::rms_plus_one;
  if (config.qk_norm == QkNorm::whole_projection) {
    q = rms_norm(q, weights.q_norm, config.norm_eps, plus_one);
    k = rms_norm(k, weights.k_norm, config.norm_eps, plus_one);
  }
  const auto heads = [&](const at::Tensor& x, int64_t count) {
    return x.view({tokens, count, config.d_head}).transpose(0, 1);
  };
  Projection projection{heads(q, config.n_q_heads), heads(k, config.n_kv_heads), {}};
  if (config.qk_norm == QkNorm::per_head) {
    projection.q = rms_norm(projection.q, weights.q_norm, config.norm_eps, plus_one);
    projection.k = rms_norm(projection.k, weights.k_norm, config.norm_eps, plus_one);
  }
  if (all.size(1) > config.q_width() + config.kv_width()) {
    projection.v = heads(all.slice(1, config.q_width() + config.kv_width()), config.n_kv_heads);
  }
  return projection;
}

void position(const ModelConfig& config, const LayerConfig& layer, const RopeTable* table,
              Projection& projection) {
  if (layer.rope) {
    const bool interleaved = config.ropes[static_cast<size_t>(layer.rope_index)].interleaved;
    projection.q = rotate(projection.q, table->cos, table->sin, interleaved);
    projection.k = rotate(projection.k, table->cos, table->sin, interleaved);
  }
  if (config.query_scaling) {
    const auto options = at::TensorOptions().dtype(at::kLong).device(projection.q.device());
    const at::Tensor positions = at::arange(projection.q.size(1), options);
    const at::Tensor steps =
        at::floor(positions / static_cast<double>(config.query_scaling->original_context));
    const at::Tensor scale = 1 + config.query_scaling->beta * at::log(1 + steps);
    projection.q = projection.q * scale.to(projection.q.scalar_type()).unsqueeze(1);
  }
}

at::Tensor finish_layer(const ModelConfig& config, const LayerConfig& layer,
                        const LayerWeights& weights, at::Tensor hidden, Projection projection) {
  at::Tensor attended = causal_attention(projection.q, projection.k, projection.v,
                                         config.attention_scale, layer.window);
  projection = {};  // the MLP needs the room
  attended = linear(attended, weights.out, weights.out_bias);
  attended = norm(config, attended, weights.post_attn_norm);
  if (config.parallel_residual) {
    const at::Tensor input = norm(config, hidden, weights.mlp_norm, weights.mlp_norm_bias);
    return mlp(config, weights, input).add_(attended).add_(hidden);
  }
  hidden = attended.add_(hidden);
  const at::Tensor input = norm(config, hidden, weights.mlp_norm, weights.mlp_norm_bias);
  const at::Tensor output = norm(config, mlp(config, weights, input), weights.post_mlp_norm);
  return hidden.add_(output);
}

int64_t layer_workspace(const ModelConfig& config, int64_t tokens, int64_t element_size) {
  const int64_t kv = config.kv_width();
  const int64_t q = config.q_width();
  const int64_t wide = sizeof(float);
  // Projection, then rotation in float32: the fused output, both halves of q in float32 and their
  // sum, the rotated copies.
  const int64_t norm = tokens * config.d_model * (2 * wide + element_size);
  const int64_t rotation = tokens * (q + 2 * kv) * element_size + tokens * q * (2 * wide) +
                           tokens * (q + kv) * element_size;
  std::optional<int64_t> window;
  for (const LayerConfig& layer : config.layers) {
    if (layer.window && (!window || *layer.window > *window)) window = layer.window;
  }
  const int64_t attention = tokens * (2 * q + 4 * kv) * element_size + tokens * q * element_size +
                            causal_attention_workspace(config.n_q_heads, config.n_kv_heads, tokens,
                                                       config.d_head, element_size, window);
  // xIELU widens to float32 several times over.
  const int64_t inner = config.activation == Activation::xielu
                            ? tokens * config.d_mlp * (2 * element_size + 5 * wide)
                            : tokens * config.d_mlp * 3 * element_size;
  const int64_t mlp = inner + tokens * config.d_model * 3 * element_size + norm;
  return std::max({norm + rotation, attention, mlp});
}

}  // namespace ropewalk
