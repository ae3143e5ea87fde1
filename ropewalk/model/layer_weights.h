#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/extent.h"

namespace ropewalk {

// The weights of a stage (a layer or the head), fused where one product can serve several. A tensor
// that the architecture lacks is undefined.
struct LayerWeights {
  at::Tensor attn_norm;  // [d_model], before attention
  at::Tensor attn_norm_bias;
  at::Tensor qkv;  // [q_width + 2 kv_width, d_model]: queries, keys, values
  at::Tensor qkv_bias;
  at::Tensor q_norm;  // [d_head] or [q_width]
  at::Tensor k_norm;  // [d_head] or [kv_width]
  at::Tensor out;     // [d_model, q_width]
  at::Tensor out_bias;
  // [d_model], applied to attention's output before it joins the residual
  at::Tensor post_attn_norm;
  at::Tensor mlp_norm;  // [d_model], before the MLP
  at::Tensor mlp_norm_bias;
  at::Tensor gate_up;  // [2 d_mlp, d_model]: gate, up; [d_mlp, d_model] without a gate
  at::Tensor gate_up_bias;
  at::Tensor down;  // [d_model, d_mlp]
  at::Tensor down_bias;
  at::Tensor post_mlp_norm;  // [d_model], applied to the MLP's output before it joins the residual
  at::Tensor alpha_p;        // xIELU: [1], [1], [], []
  at::Tensor alpha_n;
  at::Tensor beta;
  at::Tensor eps;
  at::Tensor final_norm;  // [d_model], before the head
  at::Tensor final_norm_bias;
  at::Tensor head;    // [words, d_model]
  at::Tensor sinks;   // [n_q_heads]
  at::Tensor router;  // [n_experts, d_model]
  at::Tensor router_bias;
  // A mixture's experts: each has only gate_up, down and their biases, d_expert wide. Empty where
  // experts are read one at a time.
  std::vector<LayerWeights> experts;
};

// Packs the projections, the head and the experts' projections for this processor, where it has a
// kernel for them, in their own memory (kernels/products/linear.h).
void pack_projections(LayerWeights& weights);

// The defined ones of a layer's weights, including those of its experts.
std::vector<at::Tensor> tensors_of(const LayerWeights& weights);

// A tensor of the checkpoint and its target. Several with one target are stacked by rows, in order.
struct TensorSpec {
  std::string name;  // after the layer's prefix, e.g. "self_attn.q_proj.weight"
  std::vector<int64_t> shape;
  at::Tensor LayerWeights::*destination = nullptr;
  Needed needed_for = Needed::qk;
  int64_t fused_heads = 0;  // rows are [heads, fused_parts, rest] (gpt_neox); 0: plain rows
  int64_t fused_parts = 3;
  bool optional = false;
  int64_t qk_rows = 0;      // queries and keys need only that many of the first rows; 0: all
  bool transposed = false;  // stored as columns; `shape` is that of the rows
  enum Layers { all, dense, mixtures } layers = all;  // layers that have it
  int64_t stacked = 0;      // the tensor is one of a stack of that many; 0: not stacked
  int64_t stack_index = 0;  // index in the stack
};

// The role of a tensor, independent of its name in an architecture. Random initialisation chooses
// the values of a tensor by its role.
enum class TensorRole { projection, norm, bias, alpha_p, alpha_n, beta, eps };
TensorRole role_of(at::Tensor LayerWeights::*destination);

// The number of a tensor's rows that are loaded for what is needed of its layer; the numbers in
// each.
int64_t rows_of(const TensorSpec& spec, Needed needed);
int64_t row_elements(const TensorSpec& spec);

struct Architecture;

// The tensors that are needed of a layer, without its experts.
std::vector<TensorSpec> layer_specs(const Architecture& architecture, const ModelConfig& config,
                                    int64_t layer, Needed needed);
// How many experts of a layer have to be read: all or none.
int64_t experts_of(const ModelConfig& config, int64_t layer, Needed needed);

// The number of weights in the layers of an extent, from the config alone.
int64_t needed_elements(const Architecture& architecture, const ModelConfig& config,
                        const Extent& extent);

}  // namespace ropewalk
