// OLMo (the first): LayerNorm without weights, clipped projections.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::olmo_family {

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.norm = NormKind::bare_layer;
  model.norm_eps = 1e-5;  // fixed, whatever the config says
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  if (config.has("clip_qkv")) model.clip_qkv = config.positive("clip_qkv");
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return join({attention_tensors(config), gated_mlp_tensors(config)});
}

}  // namespace ropewalk::olmo_family

ROPEWALK_FAMILY(olmo, {"olmo", configure, layer_tensors})
