// Apertus: q/k norms per head, and an MLP without a gate but with the xIELU activation.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::apertus_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.activation = "xielu";
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = QkNorm::per_head;
  model.gated = false;
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  std::vector<TensorSpec> specs =
      join({{norm_tensor(c, "attention_layernorm", &LayerWeights::attn_norm, Needed::qk)},
            attention_tensors(c),
            {norm_tensor(c, "feedforward_layernorm", &LayerWeights::mlp_norm, Needed::layer),
             {"mlp.up_proj.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
             {"mlp.down_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}}});
  if (c.activation == Activation::xielu) {
    specs.push_back({"mlp.act_fn.alpha_p", {1}, &LayerWeights::alpha_p, Needed::layer});
    specs.push_back({"mlp.act_fn.alpha_n", {1}, &LayerWeights::alpha_n, Needed::layer});
    specs.push_back(
        {"mlp.act_fn.beta", {}, &LayerWeights::beta, Needed::layer, 0, /*optional=*/true});
    specs.push_back(
        {"mlp.act_fn.eps", {}, &LayerWeights::eps, Needed::layer, 0, /*optional=*/true});
  }
  return specs;
}

}  // namespace ropewalk::apertus_family

ROPEWALK_FAMILY(apertus, {"apertus", configure, layer_tensors})
