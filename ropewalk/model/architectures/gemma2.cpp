// Gemma 2: norms around attention and MLP, capped scores, every second layer sliding.
#include <cmath>

#include "ropewalk/model/architectures/common.h"

namespace ropewalk {
namespace {

ModelConfig configure(const ConfigFile& config) {
  CommonDefaults defaults;
  defaults.d_head = 256;
  defaults.activation_key = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  ModelConfig model = read_common(config, defaults);
  refuse_bidirectional(config);
  model.norm = NormKind::rms_plus_one;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.attention_scale = 1 / std::sqrt(config.number("query_pre_attn_scalar", 256));
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
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

}  // namespace

ROPEWALK_FAMILY(gemma2, {"gemma2", configure, surrounding_norm_tensors})

}  // namespace ropewalk
