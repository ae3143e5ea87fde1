// GPT-NeoX and Pythia: LayerNorm, biases, q, k and v in one matrix, head by head; part of each head
// rotates; attention and MLP are parallel.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::gpt_neox_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "layer_norm_eps";
  defaults.activation = "gelu";
  ModelConfig model = read_common(config, defaults);
  model.n_kv_heads = model.n_q_heads;
  model.norm = NormKind::layer;
  model.gated = false;
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

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return head_by_head_tensors(config, "attention");
}

}  // namespace ropewalk::gpt_neox_family

ROPEWALK_FAMILY(gpt_neox, {.model_type = "gpt_neox",
                           .configure = configure,
                           .layer_tensors = layer_tensors,
                           .root = "gpt_neox.",
                           .embedding = "embed_in.weight",
                           .final_norm = "final_layer_norm",
                           .head = "embed_out.weight"})
