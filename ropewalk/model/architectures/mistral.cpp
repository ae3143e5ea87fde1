// Mistral: Llama where every layer slides, if a window is given.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::mistral_family {

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.ropes = {read_rope(config, rope_traits(model))};
  // An absent key means the family's 4,096; null means no window.
  const bool absent = !config.json().contains("sliding_window");
  const std::optional<int64_t> window = absent ? 4096 : config.optional_size("sliding_window");
  for (LayerConfig& layer : model.layers) layer.window = window;
  return model;
}

}  // namespace ropewalk::mistral_family

ROPEWALK_FAMILY(mistral, {"mistral", configure, pre_norm_tensors})
