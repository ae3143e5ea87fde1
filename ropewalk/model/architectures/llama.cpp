// Llama 1–3 and everything published under its name (SmolLM 1 and 2, TinyLlama, …).
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::llama_family {

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

}  // namespace ropewalk::llama_family

ROPEWALK_FAMILY(llama, {"llama", configure, pre_norm_tensors})
