// GPT-2: no RoPE; learned positions, LayerNorm, weights stored as columns (Conv1D).
#include "ropewalk/base/error.h"
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::gpt2_family {

ModelConfig configure(const JsonReader& file) {
  const JsonReader config = rename_keys(file, {{"n_embd", "hidden_size"},
                                               {"n_layer", "num_hidden_layers"},
                                               {"n_head", "num_attention_heads"},
                                               {"n_positions", "max_position_embeddings"},
                                               {"n_inner", "intermediate_size"}});
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "layer_norm_epsilon";
  defaults.activation_key = "activation_function";
  defaults.activation = "gelu_new";
  defaults.d_mlp_times = 4;
  ModelConfig model = read_common(config, defaults);
  if (config.flag("add_cross_attention", false)) {
    throw InputError("{}: add_cross_attention is not supported; expected false", config.source());
  }
  if (!config.flag("scale_attn_weights", true)) model.attention_scale = 1;
  if (config.flag("scale_attn_by_inverse_layer_idx", false)) {
    double layer_number = 0;
    for (LayerConfig& layer : model.layers)
      layer.attention_scale = model.attention_scale / ++layer_number;
  }
  set_gpt2_defaults(model);
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  const auto columns = [](TensorSpec spec) {
    spec.transposed = true;
    return spec;
  };
  TensorSpec qkv = columns(
      {"attn.c_attn.weight", {c.q_width() + 2 * c.kv_width(), c.d_model}, &LayerWeights::qkv});
  TensorSpec bias{"attn.c_attn.bias", {c.q_width() + 2 * c.kv_width()}, &LayerWeights::qkv_bias};
  qkv.qk_rows = bias.qk_rows = c.q_width() + c.kv_width();
  return {
      {"ln_1.weight", {c.d_model}, &LayerWeights::attn_norm},
      {"ln_1.bias", {c.d_model}, &LayerWeights::attn_norm_bias},
      qkv,
      bias,
      columns({"attn.c_proj.weight", {c.d_model, c.q_width()}, &LayerWeights::out, Needed::layer}),
      {"attn.c_proj.bias", {c.d_model}, &LayerWeights::out_bias, Needed::layer},
      {"ln_2.weight", {c.d_model}, &LayerWeights::mlp_norm, Needed::layer},
      {"ln_2.bias", {c.d_model}, &LayerWeights::mlp_norm_bias, Needed::layer},
      columns({"mlp.c_fc.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer}),
      {"mlp.c_fc.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, Needed::layer},
      columns({"mlp.c_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}),
      {"mlp.c_proj.bias", {c.d_model}, &LayerWeights::down_bias, Needed::layer}};
}

}  // namespace ropewalk::gpt2_family

ROPEWALK_FAMILY(gpt2, {.model_type = "gpt2",
                       .configure = configure,
                       .layer_tensors = layer_tensors,
                       .root = "transformer.",
                       .layers = "h.",
                       .embedding = "wte.weight",
                       .position_embedding = "wpe.weight",
                       .final_norm = "ln_f",
                       .tied_head = true})
