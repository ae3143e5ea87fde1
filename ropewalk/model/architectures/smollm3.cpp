// SmolLM3: Llama with NoPE layers, every fourth by default.
#include "ropewalk/base/error.h"
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::smollm3_family {

void read_nope_layers(const JsonReader& config, ModelConfig& model) {
  const auto count = static_cast<size_t>(model.n_layers);
  if (config.has("no_rope_layers")) {
    const std::vector<int64_t> uses_rope = config.integers("no_rope_layers");  // 0: no RoPE
    if (uses_rope.size() < count) {
      throw InputError("{}: key 'no_rope_layers' lists {} layers, expected {}", config.source(),
                       uses_rope.size(), count);
    }
    for (size_t i = 0; i < count; ++i) model.layers[i].rope = uses_rope[i] != 0;
    return;
  }
  const auto interval = static_cast<size_t>(config.size("no_rope_layer_interval", 4));
  for (size_t i = 0; i < count; ++i) model.layers[i].rope = (i + 1) % interval != 0;
}

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  model.ropes = {read_rope(config, rope_traits(model))};
  read_nope_layers(config, model);
  const auto types = read_layer_types(config, model.n_layers);
  if (const auto window = config.optional_size("sliding_window"); window) {
    apply_layer_types(model, types, window);
    // Without layer_types, the NoPE layers are the ones that slide.
    for (LayerConfig& layer : model.layers) {
      if (types.empty() && config.flag("use_sliding_window", false) && !layer.rope)
        layer.window = window;
    }
  }
  return model;
}

}  // namespace ropewalk::smollm3_family

ROPEWALK_FAMILY(smollm3, {.model_type = "smollm3",
                          .configure = configure,
                          .layer_tensors = pre_norm_tensors,
                          .tied_head = true})
