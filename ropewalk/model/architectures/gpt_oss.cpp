// gpt-oss: attention sinks, every second layer sliding, stacked experts with a clipped gate.
#include "ropewalk/model/architectures/experts.h"

namespace ropewalk::gpt_oss_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.d_head = 64;
  ModelConfig model = read_common(config, defaults);
  read_mixture(config, "intermediate_size", model);
  model.mixture->share = ExpertShare::softmax_of_chosen;
  const auto positive = [&](const char* key, double otherwise) {
    return config.has(key) ? config.positive(key) : otherwise;
  };
  model.cut_gate = {positive("swiglu_alpha", 1.702), positive("swiglu_limit", 7)};
  model.sinks = true;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", true);
  model.ropes = {read_rope(config, rope_traits(model))};
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  const bool absent = !config.json().contains("sliding_window");
  apply_layer_types(model, types, absent ? 128 : config.optional_size("sliding_window"));
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  return join(
      {mixture_tensors(c, "mlp.router"),
       {{"mlp.router.bias", {c.mixture->n_experts}, &LayerWeights::router_bias, Needed::layer},
        {"self_attn.sinks", {c.n_q_heads}, &LayerWeights::sinks, Needed::layer}}});
}

std::vector<TensorSpec> expert_tensors(const ModelConfig& c, int64_t expert) {
  const int64_t width = c.mixture->d_expert;
  std::vector<TensorSpec> specs{
      {"mlp.experts.gate_up_proj", {2 * width, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.experts.gate_up_proj_bias", {2 * width}, &LayerWeights::gate_up_bias, Needed::layer},
      {"mlp.experts.down_proj", {c.d_model, width}, &LayerWeights::down, Needed::layer},
      {"mlp.experts.down_proj_bias", {c.d_model}, &LayerWeights::down_bias, Needed::layer}};
  for (TensorSpec& spec : specs) {
    spec.stacked = c.mixture->n_experts;
    spec.stack_index = expert;
    spec.transposed = spec.shape.size() == 2;
  }
  // Rows of gate and up alternate.
  for (size_t i : {0, 1}) {
    specs[i].fused_heads = width;
    specs[i].fused_parts = 2;
  }
  return specs;
}

}  // namespace ropewalk::gpt_oss_family

ROPEWALK_FAMILY(gpt_oss, {"gpt_oss", configure, layer_tensors, expert_tensors})
