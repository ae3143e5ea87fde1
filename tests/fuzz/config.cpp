#include "ropewalk/checkpoint/config_file.h"
#include "ropewalk/model/architecture.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const TextModel model = read_text_model(ConfigFile(input.path));
  const ModelConfig& config = model.config;
  require(static_cast<int64_t>(config.layers.size()) == config.n_layers, "a config a layer");
  for (const LayerConfig& layer : config.layers) {
    require(static_cast<size_t>(layer.rope_index) < config.ropes.size(), "a layer's RoPE is known");
  }
  for (const TensorSpec& tensor : model.architecture->layer_tensors(config)) {
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) {
      require(size >= 1 && !__builtin_mul_overflow(elements, size, &elements),
              "a tensor's elements can be counted");
    }
  }
  for (const RopeSettings& rope : config.ropes) {
    constexpr int64_t kDimensions = 1 << 12;  // larger ones only take longer
    if (rope.rotary_dim <= kDimensions) make_rope_table(rope, 4, at::kCPU);
  }
}
