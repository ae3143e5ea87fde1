// Qwen2 and Qwen3: Qwen2 has biases on q, k and v; Qwen3 normalises each head's q and k instead.
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::qwen2_family {

// With use_sliding_window, the layers from max_window_layers on slide.
void read_sliding(const JsonReader& config, ModelConfig& model) {
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  if (!config.flag("use_sliding_window", false)) return;
  const int64_t window = config.size("sliding_window", 4096);
  if (types.empty()) {
    // 0 is a valid value here: every layer slides.
    const int64_t first = config.has("max_window_layers") && config.json()["max_window_layers"] == 0
                              ? 0
                              : config.size("max_window_layers", 28);
    for (int64_t i = 0; i < model.n_layers; ++i) {
      types.emplace_back(i >= first ? "sliding_attention" : "full_attention");
    }
  }
  apply_layer_types(model, types, window);
}

ModelConfig configure_qwen2(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.qkv_bias = true;
  model.ropes = {read_rope(config, rope_traits(model))};
  read_sliding(config, model);
  return model;
}

ModelConfig configure_qwen3(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.d_head = 128;
  ModelConfig model = read_common(config, defaults);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = QkNorm::per_head;
  model.ropes = {read_rope(config, rope_traits(model))};
  read_sliding(config, model);
  return model;
}

}  // namespace ropewalk::qwen2_family

ROPEWALK_FAMILY(qwen2, {"qwen2", configure_qwen2, pre_norm_tensors},
                {"qwen3", configure_qwen3, pre_norm_tensors})
