// EXAONE 4: norms on the outputs of attention and MLP, none before them; queries and keys are
// normalised per head. In models with sliding layers, the other layers have no RoPE.
#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::exaone4_family {

// A number n makes every n-th layer full. Letters are repeated: L slides, G is full; the last layer
// is full.
std::vector<std::string> types_of_pattern(const JsonReader& config, int64_t n_layers) {
  constexpr const char* kKey = "sliding_window_pattern";
  std::string letters = "LLLG";
  if (config.has(kKey) && config.json()[kKey].is_string()) {
    letters = config.text(kKey, letters);
    if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
      throw InputError("{}: key '{}': found '{}', expected a number, or letters L and G",
                       config.source(), kKey, letters);
    }
  } else {
    constexpr int64_t kMost = 10'000;
    const int64_t step = std::min(config.size(kKey, 4), kMost);
    letters = std::string(static_cast<size_t>(step - 1), 'L') + 'G';
  }
  std::vector<std::string> types;
  for (int64_t i = 0; i < n_layers; ++i) {
    const bool slides = letters[static_cast<size_t>(i) % letters.size()] == 'L';
    types.emplace_back(slides ? "sliding_attention" : "full_attention");
  }
  return types;
}

ModelConfig configure(const JsonReader& config) {
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  model.qk_norm = QkNorm::per_head;
  model.ropes = {read_rope(config, rope_traits(model))};
  const bool absent = !config.json().contains("sliding_window");
  const auto window = absent ? 4096 : config.optional_size("sliding_window");
  if (!window) return model;
  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  if (types.empty()) types = types_of_pattern(config, model.n_layers);
  apply_layer_types(model, types, window);
  for (LayerConfig& layer : model.layers) layer.rope = layer.window.has_value();
  return model;
}

}  // namespace ropewalk::exaone4_family

ROPEWALK_FAMILY(exaone4, {"exaone4", configure, post_norm_tensors})
