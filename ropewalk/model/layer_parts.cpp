#include "ropewalk/model/layer_parts.h"

#include "ropewalk/kernels/elementwise.h"

namespace ropewalk {

at::Tensor norm(const ModelConfig& config, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias) {
  if (config.norm == NormKind::bare_layer) return layer_norm(x, {}, {}, config.norm_eps);
  if (!weight.defined()) return x;
  if (config.norm == NormKind::layer) return layer_norm(x, weight, bias, config.norm_eps);
  return rms_norm(x, weight, config.norm_eps, config.norm == NormKind::rms_plus_one);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

at::Tensor mlp_inner(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  const at::Tensor inner = linear(x, weights.gate_up, weights.gate_up_bias);
  if (config.cut_gate) return cut_gate_(inner, config.cut_gate->alpha, config.cut_gate->limit);
  if (config.gated) return gate_(inner, config.activation);
  if (config.activation == Activation::xielu) {
    return xielu(inner, {weights.alpha_p, weights.alpha_n, weights.beta, weights.eps});
  }
  return activate(inner, config.activation);
}

}  // namespace ropewalk
