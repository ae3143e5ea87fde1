// Granite 3: Llama with multipliers for embeddings, scores and what each block adds.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::granite_family {

double multiplier(const JsonReader& config, const char* key) {
  return config.has(key) ? config.positive(key) : 1;
}

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  model.attention_scale = multiplier(config, "attention_multiplier");
  model.embedding_scale = multiplier(config, "embedding_multiplier");
  model.residual_scale = multiplier(config, "residual_multiplier");
  model.head.scale = 1 / multiplier(config, "logits_scaling");
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

}  // namespace ropewalk::granite_family

ROPEWALK_FAMILY(granite, {"granite", configure, pre_norm_tensors})
