#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/architecture.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const TextModel model = read_text_model(JsonReader(input.path));
  const ModelConfig& config = model.config;
  require(static_cast<int64_t>(config.layers.size()) == config.n_layers, "a config a layer");
  for (const LayerConfig& layer : config.layers) {
    require(!layer.rope || static_cast<size_t>(layer.rope_index) < config.ropes.size(),
            "a layer's RoPE is known");
    require(!layer.mixture || config.mixture, "a mixture's sizes are known");
  }
  std::vector<TensorSpec> tensors = model.architecture->layer_tensors(config);
  if (config.mixture) {
    for (TensorSpec& tensor : model.architecture->expert_tensors(config, 0)) {
      tensors.push_back(std::move(tensor));
    }
  }
  for (const TensorSpec& tensor : tensors) {
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
