// Seed-OSS: Llama with biases on queries, keys and values, and with a head width of its own.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::seed_oss_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.d_head = 128;
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = config.flag("attention_bias", true);
  model.out_bias = config.flag("attention_out_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

}  // namespace ropewalk::seed_oss_family

ROPEWALK_FAMILY(seed_oss, {"seed_oss", configure, pre_norm_tensors})
