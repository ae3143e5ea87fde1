// Ministral 3: Mistral with YaRN and queries scaled by position after RoPE.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::ministral3_family {

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.d_head = config.json().contains("head_dim") ? 0 : 128;
  ModelConfig model = read_common(config, defaults);
  const RopeSettings rope = read_rope(config, rope_traits(model));
  model.ropes = {rope};
  const JsonReader parameters =
      config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  if (parameters.has("llama_4_scaling_beta")) {
    model.query_scaling = {
        parameters.number("llama_4_scaling_beta"),
        parameters.size("original_max_position_embeddings", model.max_positions)};
  }
  const std::optional<int64_t> window = config.optional_size("sliding_window");
  for (LayerConfig& layer : model.layers) layer.window = window;
  return model;
}

}  // namespace ropewalk::ministral3_family

ROPEWALK_FAMILY(ministral3, {"ministral3", configure, pre_norm_tensors})
