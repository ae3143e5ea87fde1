// Gemma 3, text part: norms around attention and MLP, q/k norms per head, two RoPE settings.
#include <cmath>

#include "ropewalk/model/architectures/common.h"

namespace ropewalk {
namespace {

constexpr const char* kScalar = "query_pre_attn_scalar";

enum { kFull = 0, kSliding = 1 };  // places in ModelConfig::ropes

std::vector<RopeSettings> read_ropes(const ConfigFile& config, const ModelConfig& model) {
  RopeTraits traits = rope_traits(model);
  const RopeSettings full = read_rope(config, traits, "full_attention");
  if (config.has("rope_parameters")) {
    return {full, read_rope(config, traits, "sliding_attention")};
  }
  // The old spelling: rope_scaling speaks of full layers only.
  RopeSettings sliding = full;
  sliding.type = RopeType::standard;
  sliding.factor = 1;
  sliding.theta = config.positive("rope_local_base_freq");
  return {full, sliding};
}

ModelConfig configure(const ConfigFile& config) {
  CommonDefaults defaults;
  defaults.d_head = 256;
  defaults.activation_key = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  ModelConfig model = read_common(config, defaults);
  refuse_bidirectional(config);
  model.norm = NormKind::rms_plus_one;
  model.qk_norm = QkNorm::per_head;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.attention_scale = 1 / std::sqrt(config.has(kScalar) ? config.positive(kScalar) : 256.0);
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  model.ropes = read_ropes(config, model);

  std::vector<std::string> types = read_layer_types(config, model.n_layers);
  const int64_t pattern = config.size("sliding_window_pattern", 6);
  for (int64_t i = static_cast<int64_t>(types.size()); i < model.n_layers; ++i) {
    types.emplace_back((i + 1) % pattern != 0 ? "sliding_attention" : "full_attention");
  }
  apply_layer_types(model, types, config.size("sliding_window", 4096));
  for (LayerConfig& layer : model.layers) layer.rope_index = layer.window ? kSliding : kFull;
  return model;
}

}  // namespace

ROPEWALK_FAMILY(gemma3, {"gemma3_text", configure, surrounding_norm_tensors})

}  // namespace ropewalk
