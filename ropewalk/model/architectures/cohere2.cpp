// Cohere 2 (Command R7B, Command A, Aya): attention and MLP are parallel and share one LayerNorm
// without a bias; sliding layers have RoPE with interleaved pairs, full layers have none.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::cohere2_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "layer_norm_eps";
  ModelConfig model = read_common(config, defaults);
  model.norm = NormKind::layer_without_bias;
  model.parallel_residual = true;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.head.scale = config.has("logit_scale") ? config.positive("logit_scale") : 0.0625;
  RopeTraits traits = rope_traits(model);
  traits.interleaved = true;
  model.ropes = {read_rope(config, traits)};
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  const int64_t step = config.size("sliding_window_pattern", 4);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % step != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  for (LayerConfig& layer : model.layers) layer.rope = layer.window.has_value();
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return join({{norm_tensor(config, "input_layernorm", &LayerWeights::attn_norm, Needed::qk)},
               attention_tensors(config),
               {norm_tensor(config, "input_layernorm", &LayerWeights::mlp_norm, Needed::layer)},
               gated_mlp_tensors(config)});
}

}  // namespace ropewalk::cohere2_family

ROPEWALK_FAMILY(cohere2, {.model_type = "cohere2",
                          .configure = configure,
                          .layer_tensors = layer_tensors,
                          .tied_head = true})
