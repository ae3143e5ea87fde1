// ERNIE 4.5, the dense models: Llama with rotary pairs of neighbouring dimensions.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::ernie4_5_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.d_head = 128;
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = model.out_bias = model.mlp_bias = config.flag("use_bias", false);
  RopeTraits traits = rope_traits(model);
  traits.interleaved = true;
  model.ropes = {read_rope(config, traits)};
  return model;
}

}  // namespace ropewalk::ernie4_5_family

ROPEWALK_FAMILY(ernie4_5, {.model_type = "ernie4_5",
                           .configure = configure,
                           .layer_tensors = pre_norm_tensors,
                           .tied_head = true})
