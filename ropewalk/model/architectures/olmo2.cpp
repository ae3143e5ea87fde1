// OLMo 2 and 3: norms on the outputs of attention and MLP, none before them; q and k are normalised
// over the whole projection. OLMo 3 adds sliding layers with RoPE settings of their own.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::olmo2_family {

enum { kFull = 0, kSliding = 1 };  // indexes in ModelConfig::ropes

ModelConfig configure_common(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = QkNorm::whole_projection;
  return model;
}

ModelConfig configure_olmo2(const JsonReader& config) {
  ModelConfig model = configure_common(config);
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

ModelConfig configure_olmo3(const JsonReader& config) {
  ModelConfig model = configure_common(config);
  const RopeSettings full = read_rope(config, rope_traits(model), "full_attention");
  RopeSettings sliding = full;
  if (config.has("rope_parameters")) {
    sliding = read_rope(config, rope_traits(model), "sliding_attention");
  } else {
    sliding.type =
        RopeType::standard;  // in the old spelling, rope_scaling is about full layers only
    sliding.factor = 1;
  }
  model.ropes = {full, sliding};

  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % 4 != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  for (LayerConfig& layer : model.layers) layer.rope_index = layer.window ? kSliding : kFull;
  return model;
}

}  // namespace ropewalk::olmo2_family

ROPEWALK_FAMILY(olmo2, {"olmo2", configure_olmo2, post_norm_tensors},
                {"olmo3", configure_olmo3, post_norm_tensors})
