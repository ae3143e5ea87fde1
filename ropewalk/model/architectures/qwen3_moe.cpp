// Qwen3 with mixtures: in every layer, in every n-th layer, or in all but some; the others have an
// MLP.
#include <fmt/format.h>

#include "ropewalk/model/architectures/experts.h"

namespace ropewalk::qwen3_moe_family {

ModelConfig configure(const JsonReader& config) {
  ModelConfig model = read_common(config);
  read_mixture(config, "moe_intermediate_size", model);
  model.mixture->share = read_share(config);
  model.qk_norm = QkNorm::per_head;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.ropes = {read_rope(config, rope_traits(model))};
  std::optional<int64_t> window;
  if (config.flag("use_sliding_window", false)) {
    const bool absent = !config.json().contains("sliding_window");
    window = absent ? 4096 : config.optional_size("sliding_window");
  }
  const int64_t step = config.size("decoder_sparse_step", 1);
  for (int64_t i = 0; i < model.n_layers; ++i) {
    LayerConfig& layer = model.layers[static_cast<size_t>(i)];
    layer.window = window;
    layer.mixture = (i + 1) % step == 0;
  }
  if (config.has("mlp_only_layers")) {
    for (const int64_t i : config.integers("mlp_only_layers")) {
      if (i >= 0 && i < model.n_layers) model.layers[static_cast<size_t>(i)].mixture = false;
    }
  }
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& config) {
  return join({mixture_tensors(config, "mlp.gate"),
               restricted_to(TensorSpec::dense, gated_mlp_tensors(config))});
}

std::vector<TensorSpec> expert_tensors(const ModelConfig& config, int64_t expert) {
  return gated_expert_tensors(config, fmt::format("mlp.experts.{}.", expert));
}

}  // namespace ropewalk::qwen3_moe_family

ROPEWALK_FAMILY(qwen3_moe, {"qwen3_moe", configure, layer_tensors, expert_tensors})
