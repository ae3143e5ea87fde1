#include "ropewalk/model/architectures/common.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

Activation parse_activation(const JsonReader& config, const CommonDefaults& defaults) {
  static constexpr std::array<std::pair<std::string_view, Activation>, 10> kNames{
      {{"silu", Activation::silu},
       {"swish", Activation::silu},
       {"gelu", Activation::gelu},
       {"gelu_new", Activation::gelu_tanh},
       {"gelu_fast", Activation::gelu_tanh},
       {"gelu_pytorch_tanh", Activation::gelu_tanh},
       {"gelu_tanh", Activation::gelu_tanh},
       {"relu", Activation::relu},
       {"relu2", Activation::relu_squared},
       {"xielu", Activation::xielu}}};
  const std::string name = config.text(defaults.activation_key, defaults.activation);
  for (const auto& [known, activation] : kNames) {
    // Only Apertus stores activation weights.
    const bool has_weights = activation == Activation::xielu;
    if (known == name && (!has_weights || name == defaults.activation)) return activation;
  }
  throw InputError("{}: key '{}': activation '{}' is unknown", config.source(),
                   defaults.activation_key, name);
}

// Far beyond any model, and small enough that no product of sizes exceeds 64 bits.
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxWidth = 1 << 24;
constexpr int64_t kMaxTokens = std::numeric_limits<int32_t>::max();

int64_t size_up_to(const JsonReader& config, const std::string& key, int64_t limit) {
  const int64_t value = config.size(key);
  if (value > limit) {
    throw InputError("{}: key '{}': found {}, expected at most {}", config.source(), key, value,
                     limit);
  }
  return value;
}

}  // namespace

JsonReader rename_keys(const JsonReader& config,
                       std::initializer_list<std::pair<const char*, const char*>> names) {
  Json json = config.json();
  for (const auto& [old, common] : names) {
    if (config.has(old) && !config.has(common)) json[common] = json[old];
  }
  return {std::move(json), config.source()};
}

ModelConfig read_common(const JsonReader& config, const CommonDefaults& defaults) {
  ModelConfig model;
  model.n_layers = size_up_to(config, "num_hidden_layers", kMaxLayers);
  model.n_q_heads = size_up_to(config, "num_attention_heads", kMaxHeads);
  model.n_kv_heads = config.size("num_key_value_heads", model.n_q_heads);
  model.d_model = size_up_to(config, "hidden_size", kMaxWidth);
  const bool no_d_mlp = !config.has("intermediate_size") && defaults.d_mlp_times > 0;
  model.d_mlp = no_d_mlp ? defaults.d_mlp_times * model.d_model
                         : size_up_to(config, "intermediate_size", kMaxWidth);
  model.vocabulary_size = size_up_to(config, "vocab_size", kMaxTokens - kMaxHeads);
  model.embedding_rows = model.vocabulary_size;
  const bool no_end = !config.has("max_position_embeddings") && defaults.max_positions > 0;
  model.max_positions =
      no_end ? defaults.max_positions : size_up_to(config, "max_position_embeddings", kMaxTokens);
  if (model.n_q_heads % model.n_kv_heads != 0) {
    throw InputError(
        "{}: key 'num_key_value_heads': found {}, expected a divisor of num_attention_heads {}",
        config.source(), model.n_kv_heads, model.n_q_heads);
  }
  if (config.has("head_dim")) {
    model.d_head = size_up_to(config, "head_dim", kMaxWidth / model.n_q_heads);
  } else if (defaults.d_head != 0) {
    model.d_head = defaults.d_head;
  } else if (model.d_model % model.n_q_heads == 0) {
    model.d_head = model.d_model / model.n_q_heads;
  } else {
    throw InputError(
        "{}: hidden_size {} is not a multiple of num_attention_heads {}; write head_dim",
        config.source(), model.d_model, model.n_q_heads);
  }
  model.norm_eps = config.number(defaults.norm_eps_key, defaults.norm_eps);
  if (model.norm_eps < 0) {
    throw InputError("{}: key '{}': found {}, expected a number of at least 0", config.source(),
                     defaults.norm_eps_key, model.norm_eps);
  }
  model.activation = parse_activation(config, defaults);
  if (config.has("initializer_range"))
    model.initializer_range = config.positive("initializer_range");
  model.attention_scale = 1 / std::sqrt(static_cast<double>(model.d_head));
  model.layers.resize(static_cast<size_t>(model.n_layers));
  return model;
}

RopeTraits rope_traits(const ModelConfig& config) {
  RopeTraits traits;
  traits.d_head = config.d_head;
  traits.max_positions = config.max_positions;
  return traits;
}

std::vector<std::string> read_layer_types(const JsonReader& config, int64_t n_layers) {
  if (!config.has("layer_types")) return {};
  std::vector<std::string> types = config.texts("layer_types");
  if (static_cast<int64_t>(types.size()) < n_layers) {
    throw InputError("{}: key 'layer_types' lists {} layers, expected {}", config.source(),
                     types.size(), n_layers);
  }
  types.resize(static_cast<size_t>(n_layers));
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      throw InputError(
          "{}: key 'layer_types': '{}' is unknown; expected full_attention or sliding_attention",
          config.source(), type);
    }
  }
  return types;
}

void apply_layer_types(ModelConfig& model, const std::vector<std::string>& types,
                       std::optional<int64_t> window) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "sliding_attention") model.layers[i].window = window;
  }
}

TensorSpec norm_tensor(const ModelConfig& config, const std::string& name,
                       at::Tensor LayerWeights::*destination, Needed needed_for) {
  return {name + ".weight", {config.d_model}, destination, needed_for};
}

std::vector<TensorSpec> attention_tensors(const ModelConfig& c) {
  std::vector<TensorSpec> specs{
      {"self_attn.q_proj.weight", {c.q_width(), c.d_model}, &LayerWeights::qkv},
      {"self_attn.k_proj.weight", {c.kv_width(), c.d_model}, &LayerWeights::qkv},
      {"self_attn.v_proj.weight", {c.kv_width(), c.d_model}, &LayerWeights::qkv, Needed::layer},
      {"self_attn.o_proj.weight", {c.d_model, c.q_width()}, &LayerWeights::out, Needed::layer}};
  if (c.qkv_bias) {
    specs.push_back({"self_attn.q_proj.bias", {c.q_width()}, &LayerWeights::qkv_bias});
    specs.push_back({"self_attn.k_proj.bias", {c.kv_width()}, &LayerWeights::qkv_bias});
    specs.push_back(
        {"self_attn.v_proj.bias", {c.kv_width()}, &LayerWeights::qkv_bias, Needed::layer});
  }
  if (c.out_bias)
    specs.push_back({"self_attn.o_proj.bias", {c.d_model}, &LayerWeights::out_bias, Needed::layer});
  if (c.qk_norm != QkNorm::none) {
    const bool whole = c.qk_norm == QkNorm::whole_projection;
    specs.push_back(
        {"self_attn.q_norm.weight", {whole ? c.q_width() : c.d_head}, &LayerWeights::q_norm});
    specs.push_back(
        {"self_attn.k_norm.weight", {whole ? c.kv_width() : c.d_head}, &LayerWeights::k_norm});
  }
  return specs;
}

std::vector<TensorSpec> gated_mlp_tensors(const ModelConfig& c) {
  std::vector<TensorSpec> specs{
      {"mlp.gate_proj.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.up_proj.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.down_proj.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer}};
  if (c.mlp_bias) {
    specs.push_back({"mlp.gate_proj.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, Needed::layer});
    specs.push_back({"mlp.up_proj.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, Needed::layer});
    specs.push_back({"mlp.down_proj.bias", {c.d_model}, &LayerWeights::down_bias, Needed::layer});
  }
  return specs;
}

std::vector<TensorSpec> pre_norm_tensors(const ModelConfig& config) {
  return join(
      {{norm_tensor(config, "input_layernorm", &LayerWeights::attn_norm, Needed::qk)},
       attention_tensors(config),
       {norm_tensor(config, "post_attention_layernorm", &LayerWeights::mlp_norm, Needed::layer)},
       gated_mlp_tensors(config)});
}

std::vector<TensorSpec> post_norm_tensors(const ModelConfig& config) {
  return join({attention_tensors(config),
               {norm_tensor(config, "post_attention_layernorm", &LayerWeights::post_attn_norm,
                            Needed::layer),
                norm_tensor(config, "post_feedforward_layernorm", &LayerWeights::post_mlp_norm,
                            Needed::layer)},
               gated_mlp_tensors(config)});
}

std::vector<TensorSpec> surrounding_norm_tensors(const ModelConfig& config) {
  return join(
      {{norm_tensor(config, "input_layernorm", &LayerWeights::attn_norm, Needed::qk)},
       attention_tensors(config),
       {norm_tensor(config, "post_attention_layernorm", &LayerWeights::post_attn_norm,
                    Needed::layer),
        norm_tensor(config, "pre_feedforward_layernorm", &LayerWeights::mlp_norm, Needed::layer),
        norm_tensor(config, "post_feedforward_layernorm", &LayerWeights::post_mlp_norm,
                    Needed::layer)},
       gated_mlp_tensors(config)});
}

std::vector<TensorSpec> head_by_head_tensors(const ModelConfig& c, const std::string& attention) {
  std::vector<TensorSpec> specs{
      {"input_layernorm.weight", {c.d_model}, &LayerWeights::attn_norm},
      {"input_layernorm.bias", {c.d_model}, &LayerWeights::attn_norm_bias},
      {attention + ".query_key_value.weight",
       {3 * c.q_width(), c.d_model},
       &LayerWeights::qkv,
       Needed::qk,
       c.n_q_heads},
      {attention + ".dense.weight", {c.d_model, c.q_width()}, &LayerWeights::out, Needed::layer},
      {"post_attention_layernorm.weight", {c.d_model}, &LayerWeights::mlp_norm, Needed::layer},
      {"post_attention_layernorm.bias", {c.d_model}, &LayerWeights::mlp_norm_bias, Needed::layer},
      {"mlp.dense_h_to_4h.weight", {c.d_mlp, c.d_model}, &LayerWeights::gate_up, Needed::layer},
      {"mlp.dense_h_to_4h.bias", {c.d_mlp}, &LayerWeights::gate_up_bias, Needed::layer},
      {"mlp.dense_4h_to_h.weight", {c.d_model, c.d_mlp}, &LayerWeights::down, Needed::layer},
      {"mlp.dense_4h_to_h.bias", {c.d_model}, &LayerWeights::down_bias, Needed::layer}};
  if (c.qkv_bias) {
    specs.push_back({attention + ".query_key_value.bias",
                     {3 * c.q_width()},
                     &LayerWeights::qkv_bias,
                     Needed::qk,
                     c.n_q_heads});
    specs.push_back(
        {attention + ".dense.bias", {c.d_model}, &LayerWeights::out_bias, Needed::layer});
  }
  return specs;
}

void set_gpt2_defaults(ModelConfig& model) {
  model.n_kv_heads = model.n_q_heads;
  model.norm = NormKind::layer;
  model.gated = false;
  model.qkv_bias = model.out_bias = model.mlp_bias = true;
  for (LayerConfig& layer : model.layers) layer.rope = false;
}

namespace {

void refuse_bidirectional(const JsonReader& config) {
  if (config.flag("use_bidirectional_attention", false)) {
    throw InputError("{}: use_bidirectional_attention is not supported; expected a causal model",
                     config.source());
  }
}

}  // namespace

ModelConfig read_gemma(const JsonReader& config) {
  constexpr const char* kScalar = "query_pre_attn_scalar";
  CommonDefaults defaults;
  defaults.d_head = 256;
  defaults.activation_key = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  ModelConfig model = read_common(config, defaults);
  refuse_bidirectional(config);
  model.norm = NormKind::rms_plus_one;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.attention_scale = 1 / std::sqrt(config.has(kScalar) ? config.positive(kScalar) : 256.0);
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  return model;
}

std::vector<TensorSpec> join(std::initializer_list<std::vector<TensorSpec>> parts) {
  std::vector<TensorSpec> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace ropewalk
