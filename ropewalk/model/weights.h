#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config.h"
#include "ropewalk/model/random_weights.h"

namespace ropewalk {

// A layer's weights, fused where one product can serve several. Undefined: the architecture has
// none.
struct LayerWeights {
  at::Tensor attn_norm;  // [d_model], before attention
  at::Tensor attn_norm_bias;
  at::Tensor qkv;  // [q_width + 2 kv_width, d_model]: queries, keys, values
  at::Tensor qkv_bias;
  at::Tensor q_norm;  // [d_head] or [q_width]
  at::Tensor k_norm;  // [d_head] or [kv_width]
  at::Tensor out;     // [d_model, q_width]
  at::Tensor out_bias;
  at::Tensor post_attn_norm;  // [d_model], on attention's output before it joins the residual
  at::Tensor mlp_norm;        // [d_model], before the MLP
  at::Tensor mlp_norm_bias;
  at::Tensor gate_up;  // [2 d_mlp, d_model]: gate, up; [d_mlp, d_model] in MLPs without a gate
  at::Tensor gate_up_bias;
  at::Tensor down;  // [d_model, d_mlp]
  at::Tensor down_bias;
  at::Tensor post_mlp_norm;  // [d_model], on the MLP's output before it joins the residual
  at::Tensor alpha_p;        // xIELU: [1], [1], [], []
  at::Tensor alpha_n;
  at::Tensor beta;
  at::Tensor eps;
};

// Those of a layer's weights that are defined.
std::vector<at::Tensor> tensors_of(const LayerWeights& weights);

// A tensor of the checkpoint and where it goes. Several with one destination are stacked by rows,
// in order.
struct TensorSpec {
  std::string name;  // after the layer's prefix, e.g. "self_attn.q_proj.weight"
  std::vector<int64_t> shape;
  at::Tensor LayerWeights::*destination = nullptr;
  bool after_qk = false;    // not needed where only queries and keys are
  int64_t fused_heads = 0;  // rows are [heads, 3, d_head] (gpt_neox); 0: plain rows
  bool optional = false;
};

struct Architecture;

// Numbers that the layers 0 … last_layer take, as the config alone tells; of last_layer only what
// queries and keys need.
int64_t needed_elements(const Architecture& architecture, const ModelConfig& config,
                        int64_t last_layer);

// Reads weights in the wanted dtype onto the wanted device. Tensors are always copied out of the
// file mapping, into memory aligned alike, so that results do not depend on where a file put them.
class WeightReader {
 public:
  // Checks that every tensor the layers 0 … last_layer need is there with the right shape; of
  // last_layer only what queries and keys need. With `random`, the checkpoint says which tensors
  // there are, and their values are fresh.
  WeightReader(const Checkpoint& checkpoint, const Architecture& architecture,
               const ModelConfig& config, int64_t last_layer, at::ScalarType dtype,
               at::Device device, const std::optional<RandomWeights>& random = std::nullopt);

  // Rows of the embedding table, scaled: [tokens, d_model].
  at::Tensor embed(std::span<const int32_t> tokens) const;

  // Safe to call from another thread while the model runs.
  LayerWeights load(int64_t layer) const;

  at::Device device() const { return device_; }
  at::ScalarType dtype() const { return dtype_; }
  int64_t element_size() const { return static_cast<int64_t>(c10::elementSize(dtype_)); }

  // Identifies what is read: a digest over every byte of the tensors used, or the seed of fresh
  // ones. What load() has read is known already; the rest is read now.
  std::string digest() const;
  // Reads the embedding table for the digest, of which embed() reads rows alone.
  void hash_embedding() const;

  // Bytes load(layer) will hold.
  int64_t layer_bytes(int64_t layer) const;

 private:
  std::string layer_prefix(int64_t layer) const;
  std::vector<TensorSpec> specs(int64_t layer) const;
  at::Tensor stored_rows(std::span<const int32_t> tokens) const;
  std::string embedding_name() const;
  void check_shape(const std::string& name, const std::vector<int64_t>& shape) const;

  const Checkpoint& checkpoint_;
  const Architecture& architecture_;
  const ModelConfig& config_;
  int64_t last_layer_;
  at::ScalarType dtype_;
  at::Device device_;
  std::optional<RandomWeights> random_;
  std::string prefix_;  // of all names, e.g. "model."
};

}  // namespace ropewalk
