// Mixtral: Mistral with a mixture of experts in every layer.
#include <fmt/format.h>

#include "ropewalk/model/architectures/experts.h"

namespace ropewalk::mixtral_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  read_mixture(config, "intermediate_size", model);
  model.ropes = {read_rope(config, rope_traits(model))};
  for (LayerConfig& layer : model.layers) layer.window = config.optional_size("sliding_window");
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return mixture_tensors(config, "block_sparse_moe.gate");
}

std::vector<TensorSpec> expert_tensors(const ModelConfig& config, int64_t expert) {
  return gated_expert_tensors(config, fmt::format("block_sparse_moe.experts.{}.", expert),
                              {.gate = "w1", .up = "w3", .down = "w2"});
}

}  // namespace ropewalk::mixtral_family

ROPEWALK_FAMILY(mixtral, {"mixtral", configure, layer_tensors, expert_tensors})
