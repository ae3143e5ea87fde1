// OLMoE: a mixture in every layer; q and k are normalised over the whole projection, then clipped.
#include <fmt/format.h>

#include "ropewalk/model/architectures/experts.h"

namespace ropewalk::olmoe_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  read_mixture(config, "intermediate_size", model);
  model.mixture->share = read_share(config);
  model.qk_norm = QkNorm::whole_projection;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  if (config.has("clip_qkv")) model.clip_qkv = config.positive("clip_qkv");
  model.ropes = {read_rope(config, rope_traits(model))};
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return mixture_tensors(config, "mlp.gate");
}

std::vector<TensorSpec> expert_tensors(const ModelConfig& config, int64_t expert) {
  return gated_expert_tensors(config, fmt::format("mlp.experts.{}.", expert));
}

}  // namespace ropewalk::olmoe_family

ROPEWALK_FAMILY(olmoe, {"olmoe", configure, layer_tensors, expert_tensors})
