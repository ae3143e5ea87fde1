// GLM and GLM-4: half of each head rotates, in interleaved pairs; gate and up are one matrix. GLM-4
// adds norms on the outputs of attention and MLP.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::glm_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1.5625e-7;
  defaults.d_head = 128;
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = config.flag("attention_bias", true);
  RopeTraits traits = rope_traits(model);
  traits.interleaved = true;
  traits.default_partial = 0.5;
  model.ropes = {read_rope(config, traits)};
  return model;
}

std::vector<TensorSpec> glm_tensors(const ModelConfig& c) {
  return join(
      {{norm_tensor(c, "input_layernorm", &LayerWeights::attn_norm, Needed::qk)},
       attention_tensors(c),
       {norm_tensor(c, "post_attention_layernorm", &LayerWeights::mlp_norm, Needed::layer),
        {"mlp.gate_up_proj.weight",
         {2 * c.d_mlp, c.d_model},
         &LayerWeights::gate_up,
         Needed::layer},
        {"mlp.down_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}}});
}

std::vector<TensorSpec> glm4_tensors(const ModelConfig& config) {
  return join(
      {glm_tensors(config),
       {norm_tensor(config, "post_self_attn_layernorm", &LayerWeights::post_attn_norm,
                    Needed::layer),
        norm_tensor(config, "post_mlp_layernorm", &LayerWeights::post_mlp_norm, Needed::layer)}});
}

}  // namespace ropewalk::glm_family

ROPEWALK_FAMILY(glm, {"glm", configure, glm_tensors}, {"glm4", configure, glm4_tensors})
