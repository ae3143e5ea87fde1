// Gemma 3, text part: norms around attention and MLP, q/k norms per head, two RoPE settings.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::gemma3_family {

enum { kFull = 0, kSliding = 1 };  // indexes in ModelConfig::ropes

std::vector<RopeSettings> read_ropes(const JsonReader& config, const ModelConfig& model) {
  RopeTraits traits = rope_traits(model);
  const RopeSettings full = read_rope(config, traits, "full_attention");
  if (config.has("rope_parameters")) {
    return {full, read_rope(config, traits, "sliding_attention")};
  }
  // In the old spelling, rope_scaling is about full layers only.
  RopeSettings sliding = full;
  sliding.type = RopeType::standard;
  sliding.factor = 1;
  sliding.theta = config.positive("rope_local_base_freq");
  return {full, sliding};
}

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_gemma(config);
  model.qk_norm = QkNorm::per_head;
  model.ropes = read_ropes(config, model);
  constexpr const char* kCap = "final_logit_softcapping";
  if (config.has(kCap)) model.head.cap = config.positive(kCap);

  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  const int64_t pattern = config.size("sliding_window_pattern", 6);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % pattern != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  for (LayerConfig& layer : model.layers) layer.rope_index = layer.window ? kSliding : kFull;
  return model;
}

}  // namespace ropewalk::gemma3_family

ROPEWALK_FAMILY(gemma3, {.model_type = "gemma3_text",
                         .configure = configure,
                         .layer_tensors = surrounding_norm_tensors,
                         .tied_head = true})
