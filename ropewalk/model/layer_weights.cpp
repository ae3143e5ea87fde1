#include "ropewalk/model/layer_weights.h"

#include <array>
#include <functional>
#include <numeric>

#include "ropewalk/kernels/products/linear.h"
#include "ropewalk/model/architecture.h"

namespace ropewalk {
namespace {

struct WeightField {
  at::Tensor LayerWeights::*member;
  TensorRole role;
};

// All tensors of a layer with their roles.
constexpr std::array<WeightField, 26> kFields{{
    {&LayerWeights::attn_norm, TensorRole::norm},
    {&LayerWeights::attn_norm_bias, TensorRole::bias},
    {&LayerWeights::qkv, TensorRole::projection},
    {&LayerWeights::qkv_bias, TensorRole::bias},
    {&LayerWeights::q_norm, TensorRole::norm},
    {&LayerWeights::k_norm, TensorRole::norm},
    {&LayerWeights::out, TensorRole::projection},
    {&LayerWeights::out_bias, TensorRole::bias},
    {&LayerWeights::post_attn_norm, TensorRole::norm},
    {&LayerWeights::mlp_norm, TensorRole::norm},
    {&LayerWeights::mlp_norm_bias, TensorRole::bias},
    {&LayerWeights::gate_up, TensorRole::projection},
    {&LayerWeights::gate_up_bias, TensorRole::bias},
    {&LayerWeights::down, TensorRole::projection},
    {&LayerWeights::down_bias, TensorRole::bias},
    {&LayerWeights::post_mlp_norm, TensorRole::norm},
    {&LayerWeights::alpha_p, TensorRole::alpha_p},
    {&LayerWeights::alpha_n, TensorRole::alpha_n},
    {&LayerWeights::beta, TensorRole::beta},
    {&LayerWeights::eps, TensorRole::eps},
    {&LayerWeights::final_norm, TensorRole::norm},
    {&LayerWeights::final_norm_bias, TensorRole::bias},
    {&LayerWeights::head, TensorRole::projection},
    {&LayerWeights::sinks, TensorRole::projection},
    {&LayerWeights::router, TensorRole::projection},
    {&LayerWeights::router_bias, TensorRole::projection},
}};
static_assert(sizeof(LayerWeights) ==
                  kFields.size() * sizeof(at::Tensor) + sizeof(LayerWeights::experts),
              "a tensor is not listed");

int64_t elements_of(const std::vector<TensorSpec>& specs, Needed needed) {
  int64_t elements = 0;
  for (const TensorSpec& spec : specs) elements += rows_of(spec, needed) * row_elements(spec);
  return elements;
}

}  // namespace

void pack_projections(LayerWeights& weights) {
  for (at::Tensor* projection :
       {&weights.qkv, &weights.out, &weights.gate_up, &weights.down, &weights.head}) {
    if (projection->defined()) *projection = packed_weights(*projection);
  }
  for (LayerWeights& expert : weights.experts) pack_projections(expert);
}

std::vector<at::Tensor> tensors_of(const LayerWeights& weights) {
  std::vector<at::Tensor> tensors;
  for (const WeightField& field : kFields) {
    if ((weights.*field.member).defined()) tensors.push_back(weights.*field.member);
  }
  for (const LayerWeights& expert : weights.experts) {
    const std::vector<at::Tensor> more = tensors_of(expert);
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  return tensors;
}

TensorRole role_of(at::Tensor LayerWeights::*destination) {
  for (const WeightField& field : kFields) {
    if (field.member == destination) return field.role;
  }
  return TensorRole::projection;
}

int64_t rows_of(const TensorSpec& spec, Needed needed) {
  if (spec.shape.empty()) return 1;
  if (needed != Needed::qk) return spec.shape[0];
  if (spec.qk_rows > 0) return spec.qk_rows;
  return spec.fused_heads > 0 ? spec.shape[0] / 3 * 2 : spec.shape[0];
}

int64_t row_elements(const TensorSpec& spec) {
  return std::accumulate(spec.shape.begin() + (spec.shape.empty() ? 0 : 1), spec.shape.end(),
                         int64_t{1}, std::multiplies<>());
}

std::vector<TensorSpec> layer_specs(const Architecture& architecture, const ModelConfig& config,
                                    int64_t layer, Needed needed) {
  const LayerConfig& kind = config.layers[static_cast<size_t>(layer)];
  std::vector<TensorSpec> specs;
  if (!kind.self_attention) return specs;
  for (TensorSpec& spec : architecture.layer_tensors(config)) {
    const bool other = spec.layers == (kind.mixture ? TensorSpec::dense : TensorSpec::mixtures);
    if (!other && spec.needed_for <= needed) specs.push_back(std::move(spec));
  }
  return specs;
}

int64_t experts_of(const ModelConfig& config, int64_t layer, Needed needed) {
  const bool mixture = config.layers[static_cast<size_t>(layer)].mixture;
  return mixture && needed != Needed::qk ? config.mixture->n_experts : 0;
}

int64_t needed_elements(const Architecture& architecture, const ModelConfig& config,
                        const Extent& extent) {
  int64_t elements = 0;
  for (int64_t layer = 0; layer <= extent.last_layer; ++layer) {
    const Needed needed = extent.of(layer);
    elements += elements_of(layer_specs(architecture, config, layer, needed), needed);
    if (const int64_t experts = experts_of(config, layer, needed); experts > 0) {
      elements += experts * elements_of(architecture.expert_tensors(config, 0), needed);
    }
  }
  return elements;
}

}  // namespace ropewalk
