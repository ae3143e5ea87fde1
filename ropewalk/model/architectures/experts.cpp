#include "ropewalk/model/architectures/experts.h"

#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

void read_mixture(const JsonReader& config, const std::string& d_expert_key, ModelConfig& model) {
  // The limit of all experts' widths together, which is that of one MLP.
  constexpr int64_t kMaxWidth = 1 << 24;
  const char* count_key = config.has("num_experts") ? "num_experts" : "num_local_experts";
  Mixture mixture;
  mixture.n_experts = config.size(count_key);
  mixture.n_chosen = config.size("num_experts_per_tok");
  mixture.d_expert = config.size(d_expert_key);
  if (mixture.n_experts > kMaxWidth / mixture.d_expert) {
    throw InputError("{}: {} {} times {} {} is too large; expected at most {}", config.source(),
                     count_key, mixture.n_experts, d_expert_key, mixture.d_expert, kMaxWidth);
  }
  if (mixture.n_chosen > mixture.n_experts) {
    throw InputError("{}: key 'num_experts_per_tok': found {}, expected at most {} {}",
                     config.source(), mixture.n_chosen, count_key, mixture.n_experts);
  }
  model.mixture = mixture;
  for (LayerConfig& layer : model.layers) layer.mixture = true;
}

ExpertShare read_share(const JsonReader& config) {
  return config.flag("norm_topk_prob", false) ? ExpertShare::of_chosen : ExpertShare::of_all;
}

std::vector<TensorSpec> mixture_tensors(const ModelConfig& config, const std::string& router) {
  return join(
      {{norm_tensor(config, "input_layernorm", &LayerWeights::attn_norm, Needed::qk)},
       attention_tensors(config),
       {norm_tensor(config, "post_attention_layernorm", &LayerWeights::mlp_norm, Needed::layer)},
       restricted_to(TensorSpec::mixtures, {{router + ".weight",
                                             {config.mixture->n_experts, config.d_model},
                                             &LayerWeights::router,
                                             Needed::layer}})});
}

std::vector<TensorSpec> gated_expert_tensors(const ModelConfig& config, const std::string& prefix,
                                             const ExpertNames& names) {
  const int64_t width = config.mixture->d_expert;
  const auto name = [&](const char* part) { return prefix + part + ".weight"; };
  return {{name(names.gate), {width, config.d_model}, &LayerWeights::gate_up, Needed::layer},
          {name(names.up), {width, config.d_model}, &LayerWeights::gate_up, Needed::layer},
          {name(names.down), {config.d_model, width}, &LayerWeights::down, Needed::layer}};
}

std::vector<TensorSpec> restricted_to(TensorSpec::Layers layers, std::vector<TensorSpec> specs) {
  for (TensorSpec& spec : specs) spec.layers = layers;
  return specs;
}

}  // namespace ropewalk
