// Gemma 2: norms around attention and MLP, capped scores, every second layer sliding.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::gemma2_family {

ModelConfig configure(const ConfigFile& config) {
  ModelConfig model = read_gemma(config);
  // An absent key means the family's 50; null means no cap.
  constexpr const char* kCap = "attn_logit_softcapping";
  if (!config.json().contains(kCap)) {
    model.score_cap = 50;
  } else if (config.has(kCap)) {
    model.score_cap = config.positive(kCap);
  }
  model.ropes = {read_rope(config, rope_traits(model))};
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % 2 != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  return model;
}

}  // namespace ropewalk::gemma2_family

ROPEWALK_FAMILY(gemma2, {"gemma2", configure, surrounding_norm_tensors})
