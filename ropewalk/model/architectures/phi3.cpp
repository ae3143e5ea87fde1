// Phi-3 and Phi-4-mini: q, k and v in one matrix, gate and up in another; LongRoPE.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::phi3_family {

// Here the original context is outside the RoPE settings, and older files call LongRoPE "su" or
// "yarn".
JsonReader with_longrope(const JsonReader& config) {
  Json json = config.json();
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!config.has(key)) continue;
    const JsonReader rope = config.object(key);
    const std::string type = rope.text("rope_type", rope.text("type", "default"));
    if (type == "default") continue;
    if (type == "yarn") json[key]["rope_type"] = "longrope";
    json[key]["original_max_position_embeddings"] = config.size(
        "original_max_position_embeddings", rope.size("original_max_position_embeddings", 4096));
  }
  return {std::move(json), config.source()};
}

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  RopeTraits traits = rope_traits(model);
  traits.default_partial = 1;
  model.ropes = {read_rope(with_longrope(config), traits)};
  const std::optional<int64_t> window = config.optional_size("sliding_window");
  for (LayerConfig& layer : model.layers) layer.window = window;
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  TensorSpec qkv{
      "self_attn.qkv_proj.weight", {c.q_width() + 2 * c.kv_width(), c.d_model}, &LayerWeights::qkv};
  qkv.qk_rows = c.q_width() + c.kv_width();
  return {
      norm_tensor(c, "input_layernorm", &LayerWeights::attn_norm, Needed::qk),
      qkv,
      {"self_attn.o_proj.weight", {c.d_model, c.q_width()}, &LayerWeights::out, Needed::layer},
      norm_tensor(c, "post_attention_layernorm", &LayerWeights::mlp_norm, Needed::layer),
      {"mlp.gate_up_proj.weight", {2 * c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.down_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}};
}

}  // namespace ropewalk::phi3_family

ROPEWALK_FAMILY(phi3, {"phi3", configure, layer_tensors})
