#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/model/config/rope.h"

namespace ropewalk {

enum class NormKind {
  rms,                 // x / rms(x) * weight
  rms_plus_one,        // x / rms(x) * (1 + weight)
  layer,               // LayerNorm with weight and bias
  layer_without_bias,  // LayerNorm with a weight alone (cohere2)
  bare_layer,          // LayerNorm without either (olmo)
};

// Whether queries and keys are normalised after their projection, before RoPE.
enum class QkNorm { none, per_head, whole_projection };

struct LayerConfig {
  bool self_attention = true;     // false: skipped on text (mllama's cross-attention layers)
  bool rope = true;               // false: a NoPE layer
  int rope_index = 0;             // into ModelConfig::ropes
  std::optional<int64_t> window;  // sliding attention: tokens seen, the current one included
  bool mixture = false;           // experts in place of the MLP
  std::optional<double> attention_scale;  // another than the model's
};

// How much a chosen expert counts.
enum class ExpertShare {
  of_all,             // the softmax over all experts
  of_chosen,          // the same, divided by the sum over the chosen ones
  softmax_of_chosen,  // the softmax over the chosen ones alone (gpt_oss)
};

// A layer's experts are MLPs; a router sends each token through a few of them.
struct Mixture {
  int64_t n_experts = 0;
  int64_t n_chosen = 0;  // for each token
  int64_t d_expert = 0;  // what d_mlp is to an MLP
  ExpertShare share = ExpertShare::of_chosen;
};

// A gate that is cut off: min(gate, limit) * sigmoid(alpha * gate) * (1 + up), with up within plus
// and minus limit (gpt_oss).
struct CutGate {
  double alpha = 0;
  double limit = 0;
};

// What follows the last layer. No query or key depends on it.
struct HeadSettings {
  std::optional<bool> tied;   // the head is the embedding table; none: the family's default
  double scale = 1;           // logits are multiplied by it (granite)
  std::optional<double> cap;  // then they become cap * tanh(logit / cap) (gemma2)
};

// What a model is, reduced to what the forward pass needs. Words for sizes follow TransformerLens.
struct ModelConfig {
  std::string architecture;  // config.json's model_type, of the text part
  int64_t n_layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t d_model = 0;
  int64_t d_head = 0;
  int64_t d_mlp = 0;
  int64_t vocabulary_size = 0;
  int64_t embedding_rows = 0;  // of the embedding table; at least vocabulary_size
  int64_t max_positions = 0;   // max_position_embeddings

  NormKind norm = NormKind::rms;
  double norm_eps = 0;
  QkNorm qk_norm = QkNorm::none;
  Activation activation = Activation::silu;
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool gated = true;               // MLP: activation(gate) * up; else activation(up)
  bool parallel_residual = false;  // attention and MLP both read the layer's input
  double attention_scale = 0;
  double embedding_scale = 1;
  double residual_scale = 1;        // of what attention and MLP add (granite)
  std::optional<double> clip_qkv;   // projections are kept within plus and minus this (olmo)
  std::optional<double> score_cap;  // scores become cap * tanh(score / cap) (gemma2)
  bool alibi = false;               // scores fall with distance, by a slope for each head (bloom)
  bool sinks = false;               // each head may attend to nothing, by a learned score (gpt_oss)
  std::optional<CutGate> cut_gate;  // in place of the activation
  std::optional<Mixture> mixture;   // of the layers that have one
  double initializer_range = 0.02;  // of fresh weights

  // Queries times 1 + beta * log(1 + floor(t / original_context)), after RoPE (ministral3).
  struct QueryScaling {
    double beta = 0;
    int64_t original_context = 0;
  };
  std::optional<QueryScaling> query_scaling;

  std::vector<RopeSettings> ropes;
  std::vector<LayerConfig> layers;
  HeadSettings head;

  int64_t q_width() const { return n_q_heads * d_head; }
  int64_t kv_width() const { return n_kv_heads * d_head; }
};

}  // namespace ropewalk
