#include "ropewalk/model/layer.h"

#include <algorithm>

#include "ropewalk/kernels/attention/attention.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/products/linear.h"
#include "ropewalk/model/layer_parts.h"
#include "ropewalk/model/mixture.h"

namespace ropewalk {
namespace {

// sum += scale * norm(x weight^T + bias) with a norm; without one, the product is added directly.
void add_residual(const ModelConfig& config, at::Tensor sum, const at::Tensor& x,
                  const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& norm_weight) {
  if (norm_weight.defined()) {
    sum.add_(norm(config, linear(x, weight, bias), norm_weight), config.residual_scale);
  } else {
    add_linear(sum, x, weight, bias, config.residual_scale);
  }
}

// Whether scores are more than scaled products, which the fast kernels do not support.
bool changes_scores(const ModelConfig& config) {
  return config.score_cap || config.alibi || config.sinks;
}

}  // namespace

Projection project(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& hidden,
                   const std::function<void(const Projection&)>& raw) {
  const int64_t tokens = hidden.size(0);
  const at::Tensor all =
      at::empty({tokens, columns_of(weights.qkv, config.d_model)}, hidden.options());
  for_rows(hidden, [&](int64_t begin, int64_t end) {
    const at::Tensor input =
        norm(config, hidden.slice(0, begin, end), weights.attn_norm, weights.attn_norm_bias);
    linear_into(all.slice(0, begin, end), input, weights.qkv, weights.qkv_bias);
  });
  // Clips before observers see the projections; where there is a norm, after it (olmoe).
  const bool clips_after_norm = config.clip_qkv && config.qk_norm != QkNorm::none;
  if (config.clip_qkv && !clips_after_norm) all.clamp_(-*config.clip_qkv, *config.clip_qkv);
  at::Tensor q = all.slice(1, 0, config.q_width());
  at::Tensor k = all.slice(1, config.q_width(), config.q_width() + config.kv_width());
  const auto heads = [&](const at::Tensor& x, int64_t count) {
    return x.view({tokens, count, config.d_head}).transpose(0, 1);
  };
  at::Tensor v;
  if (all.size(1) > config.q_width() + config.kv_width()) {
    v = heads(all.slice(1, config.q_width() + config.kv_width()), config.n_kv_heads);
  }
  if (raw) raw({heads(q, config.n_q_heads), heads(k, config.n_kv_heads), v});
  const bool plus_one = config.norm == NormKind::rms_plus_one;
  if (config.qk_norm == QkNorm::whole_projection) {
    q = rms_norm(q, weights.q_norm, config.norm_eps, plus_one);
    k = rms_norm(k, weights.k_norm, config.norm_eps, plus_one);
  }
  if (clips_after_norm) {
    for (at::Tensor x : {q, k}) x.clamp_(-*config.clip_qkv, *config.clip_qkv);
    if (v.defined()) v = v.clamp(-*config.clip_qkv, *config.clip_qkv);
  }
  Projection projection{heads(q, config.n_q_heads), heads(k, config.n_kv_heads), v};
  if (config.qk_norm == QkNorm::per_head) {
    projection.q = rms_norm(projection.q, weights.q_norm, config.norm_eps, plus_one);
    projection.k = rms_norm(projection.k, weights.k_norm, config.norm_eps, plus_one);
  }
  return projection;
}

void apply_position(const ModelConfig& config, const LayerConfig& layer, const RopeTable* table,
                    Projection& projection, bool keep) {
  if (layer.rope) {
    const bool interleaved = config.ropes[static_cast<size_t>(layer.rope_index)].interleaved;
    if (keep) {
      rotate(projection.q, projection.k, table->cos, table->sin, interleaved);
    } else {
      rotate_(projection.q, projection.k, table->cos, table->sin, interleaved);
    }
  }
  const at::Tensor scale = query_scale(config, projection.q.size(1), projection.q.device());
  if (scale.defined()) {
    projection.q = projection.q * scale.to(projection.q.scalar_type()).unsqueeze(1);
  }
}

at::Tensor query_scale(const ModelConfig& config, int64_t tokens, const at::Device& device) {
  if (!config.query_scaling) return {};
  const at::Tensor positions =
      at::arange(tokens, at::TensorOptions().dtype(at::kLong).device(device));
  const at::Tensor steps =
      at::floor(positions / static_cast<double>(config.query_scaling->original_context));
  return 1 + config.query_scaling->beta * at::log(1 + steps);
}

Projection slice(const Projection& projection, int64_t begin, int64_t end) {
  const auto some = [&](const at::Tensor& x) { return x.defined() ? x.slice(1, begin, end) : x; };
  return {some(projection.q), some(projection.k), some(projection.v)};
}

ScoreOptions score_options(const ModelConfig& config, const LayerConfig& layer,
                           const LayerWeights& weights, std::span<const int64_t> heads) {
  const auto of_heads = [&](const at::Tensor& x) {
    if (heads.empty()) return x;
    const auto chosen = at::tensor(at::IntArrayRef(heads.data(), heads.size()), at::kLong);
    return x.index_select(0, chosen.to(x.device()));
  };
  ScoreOptions options{.scale = layer.attention_scale.value_or(config.attention_scale),
                       .window = layer.window,
                       .cap = config.score_cap};
  if (config.alibi) {
    options.slopes = of_heads(alibi_slopes(config.n_q_heads).to(weights.qkv.device()));
  }
  if (weights.sinks.defined()) options.sinks = of_heads(weights.sinks);
  return options;
}

at::Tensor attend(const ModelConfig& config, const ScoreOptions& scores,
                  const Projection& document) {
  const auto& [q, k, v] = document;
  if (changes_scores(config)) return biased_attention(q, k, v, scores);
  return causal_attention(q, k, v, scores.scale, scores.window);
}

at::Tensor finish_layer(const ModelConfig& config, const LayerConfig& layer,
                        const LayerWeights& weights, at::Tensor hidden,
                        const at::Tensor& attended) {
  for_rows(hidden, [&](int64_t begin, int64_t end) {
    const at::Tensor residual = hidden.slice(0, begin, end);
    const at::Tensor heads = attended.slice(0, begin, end).reshape({end - begin, config.q_width()});
    const auto add_attention = [&] {
      add_residual(config, residual, heads, weights.out, weights.out_bias, weights.post_attn_norm);
    };
    if (!config.parallel_residual) add_attention();
    if (layer.mixture) return;
    const at::Tensor input = norm(config, residual, weights.mlp_norm, weights.mlp_norm_bias);
    if (config.parallel_residual) add_attention();
    add_residual(config, residual, mlp_inner(config, weights, input), weights.down,
                 weights.down_bias, weights.post_mlp_norm);
  });
  return hidden;
}

int64_t layer_workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                        const at::Device& device, int64_t collector_bytes) {
  const auto element_size = static_cast<int64_t>(c10::elementSize(dtype));
  const int64_t kv = config.kv_width();
  const int64_t q = config.q_width();
  const int64_t wide = sizeof(float);
  const int64_t rows = std::min(tokens, rows_at_a_time(dtype, device));
  // Queries, keys and values; copies of queries and keys where they are normalised or scaled.
  int64_t projection = tokens * (q + 2 * kv) * element_size;
  if (config.qk_norm != QkNorm::none) projection += tokens * (q + kv) * element_size;
  if (config.query_scaling) projection += tokens * q * element_size;
  std::optional<int64_t> window;
  for (const LayerConfig& layer : config.layers) {
    if (layer.window && (!window || *layer.window > *window)) window = layer.window;
  }
  const int64_t attended = tokens * q * element_size;
  const int64_t attention =
      projection + attended +
      (changes_scores(config) ? biased_attention_workspace(config.n_q_heads, tokens, config.d_head)
                              : causal_attention_workspace({config.n_q_heads, config.n_kv_heads,
                                                            tokens, config.d_head, window},
                                                           dtype, device));
  // xIELU makes several float32 copies.
  const int64_t inner = config.activation == Activation::xielu
                            ? config.d_mlp * (2 * element_size + 5 * wide)
                            : 2 * config.d_mlp * element_size;
  const int64_t mlp = std::max(attended + rows * (inner + (q + 3 * config.d_model) * element_size),
                               mixture_workspace(config, tokens, element_size, device));
  if (device.is_cuda()) {
    // cuBLAS keeps 32 MiB for each of the two streams that multiply. On a GPU, collecting runs
    // in parallel with attention and MLP and keeps the queries and keys that it reads.
    constexpr int64_t kLibrary = int64_t{64} << 20;
    return std::max(attention, mlp + projection) + collector_bytes + kLibrary;
  }
  const int64_t product = packs_weights(dtype, device)
                              ? linear_workspace(std::max({config.d_model, q, config.d_mlp}))
                              : 0;
  return std::max({attention, mlp + product, projection + std::max(collector_bytes, product)});
}

}  // namespace ropewalk
