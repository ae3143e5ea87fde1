// StarCoder2: LayerNorm and biases as in GPT-2, grouped queries, RoPE and sliding windows as in
// Mistral.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::starcoder2_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "norm_epsilon";
  defaults.activation = "gelu_pytorch_tanh";
  ModelConfig model = read_common(config, defaults);
  model.norm = NormKind::layer;
  model.gated = false;
  model.qkv_bias = model.out_bias = model.mlp_bias = config.flag("use_bias", true);
  model.ropes = {read_rope(config, rope_traits(model))};
  const auto window = config.optional_size("sliding_window");
  for (LayerConfig& layer : model.layers) layer.window = window;
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  std::vector<TensorSpec> mlp{
      {"mlp.c_fc.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.c_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}};
  if (c.mlp_bias) {
    mlp.push_back({"mlp.c_fc.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, Needed::layer});
    mlp.push_back({"mlp.c_proj.bias", {c.d_model}, &LayerWeights::down_bias, Needed::layer});
  }
  return join(
      {{{"input_layernorm.weight", {c.d_model}, &LayerWeights::attn_norm},
        {"input_layernorm.bias", {c.d_model}, &LayerWeights::attn_norm_bias}},
       attention_tensors(c),
       {{"post_attention_layernorm.weight", {c.d_model}, &LayerWeights::mlp_norm, Needed::layer},
        {"post_attention_layernorm.bias",
         {c.d_model},
         &LayerWeights::mlp_norm_bias,
         Needed::layer}},
       mlp});
}

}  // namespace ropewalk::starcoder2_family

ROPEWALK_FAMILY(starcoder2, {.model_type = "starcoder2",
                             .configure = configure,
                             .layer_tensors = layer_tensors,
                             .tied_head = true})
