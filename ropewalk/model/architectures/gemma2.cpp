// Gemma 2: norms around attention and MLP, capped scores, every second layer sliding.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::gemma2_family {

// An absent key means the family's number; null means no cap.
std::optional<double> cap(const JsonReader& config, const char* key, double absent) {
  if (!config.json().contains(key)) return absent;
  return config.has(key) ? std::optional(config.positive(key)) : std::nullopt;
}

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_gemma(config);
  model.score_cap = cap(config, "attn_logit_softcapping", 50);
  model.head.cap = cap(config, "final_logit_softcapping", 30);
  model.ropes = {read_rope(config, rope_traits(model))};
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % 2 != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  return model;
}

}  // namespace ropewalk::gemma2_family

ROPEWALK_FAMILY(gemma2, {.model_type = "gemma2",
                         .configure = configure,
                         .layer_tensors = surrounding_norm_tensors,
                         .tied_head = true})
