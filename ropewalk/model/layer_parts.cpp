#include "ropewalk/model/layer_parts.h"

#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/kernels/products/linear.h"

namespace ropewalk {

at::Tensor norm(const ModelConfig& config, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias) {
  if (config.norm == NormKind::bare_layer) return layer_norm(x, {}, {}, config.norm_eps);
  if (!weight.defined()) return x;
  if (config.norm == NormKind::layer || config.norm == NormKind::layer_without_bias) {
    return layer_norm(x, weight, bias, config.norm_eps);
  }
  return rms_norm(x, weight, config.norm_eps, config.norm == NormKind::rms_plus_one);
}

at::Tensor mlp_inner(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  if (config.gated && !config.cut_gate) {
    return gated_linear(x, weights.gate_up, weights.gate_up_bias, config.activation);
  }
  const at::Tensor inner = linear(x, weights.gate_up, weights.gate_up_bias);
  if (config.cut_gate) return cut_gate_(inner, config.cut_gate->alpha, config.cut_gate->limit);
  if (config.activation == Activation::xielu) {
    return xielu(inner, {weights.alpha_p, weights.alpha_n, weights.beta, weights.eps});
  }
  return activate(inner, config.activation);
}

int64_t rows_at_a_time(at::ScalarType dtype, const at::Device& device) {
  if (device.is_cuda()) return 8192;
  // Torch's products need many rows at a time, because they pack weights anew for each call. Ours
  // need enough rows for every thread and give the same numbers for any: then the next step finds
  // the result of one step in the cache, and no new pages of memory are needed.
  constexpr int64_t kMost = 4096;
  constexpr int64_t kOfThread = 512;
  return packs_weights(dtype, device) ? std::min(kMost, kOfThread * at::get_num_threads()) : kMost;
}

}  // namespace ropewalk
