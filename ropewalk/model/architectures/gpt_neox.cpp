// GPT-NeoX and Pythia: LayerNorm, biases, q, k and v in one matrix head by head, part of each head
// rotated, attention and MLP side by side.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk {
namespace {

ModelConfig configure(const ConfigFile& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "layer_norm_eps";
  defaults.activation = "gelu";
  ModelConfig model = read_common(config, defaults);
  model.n_kv_heads = model.n_q_heads;
  model.norm = NormKind::layer;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", true);
  model.mlp_bias = true;
  model.parallel_residual = config.flag("use_parallel_residual", true);
  RopeTraits traits = rope_traits(model);
  traits.default_partial = 0.25;
  traits.theta_key = "rotary_emb_base";
  traits.partial_key = "rotary_pct";
  model.ropes = {read_rope(config, traits)};
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  std::vector<TensorSpec> specs{
      {"input_layernorm.weight", {c.d_model}, &LayerWeights::attn_norm},
      {"input_layernorm.bias", {c.d_model}, &LayerWeights::attn_norm_bias},
      {"attention.query_key_value.weight",
       {3 * c.q_width(), c.d_model},
       &LayerWeights::qkv,
       false,
       c.n_q_heads},
      {"attention.dense.weight", {c.d_model, c.q_width()}, &LayerWeights::out, true},
      {"post_attention_layernorm.weight", {c.d_model}, &LayerWeights::mlp_norm, true},
      {"post_attention_layernorm.bias", {c.d_model}, &LayerWeights::mlp_norm_bias, true},
      {"mlp.dense_h_to_4h.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, true},
      {"mlp.dense_h_to_4h.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, true},
      {"mlp.dense_4h_to_h.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, true},
      {"mlp.dense_4h_to_h.bias", {c.d_model}, &LayerWeights::down_bias, true}};
  if (c.qkv_bias) {
    specs.push_back({"attention.query_key_value.bias",
                     {3 * c.q_width()},
                     &LayerWeights::qkv_bias,
                     false,
                     c.n_q_heads});
    specs.push_back({"attention.dense.bias", {c.d_model}, &LayerWeights::out_bias, true});
  }
  return specs;
}

}  // namespace

const Architecture kGptNeox{"gpt_neox", configure, layer_tensors, "embed_in.weight"};

}  // namespace ropewalk
