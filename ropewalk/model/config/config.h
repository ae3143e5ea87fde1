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
  layer_without_bias,  // LayerNorm with a weight only (cohere2)
  bare_layer,          // LayerNorm without weight and bias (olmo)
};

// Whether queries and keys are normalised after their projection, before RoPE.
enum class QkNorm { none, per_head, whole_projection };

struct LayerConfig {
  bool self_attention = true;  // false: skipped for text (mllama's cross-attention layers)
  bool rope = true;            // false: a NoPE layer
  int rope_index = 0;          // index in ModelConfig::ropes
  // Sliding attention: number of visible tokens, including the current one.
  std::optional<int64_t> window;
  bool mixture = false;                   // experts instead of the MLP
  std::optional<double> attention_scale;  // set where it differs from the model's
};

// The weight of a chosen expert's output.
enum class ExpertShare {
  of_all,             // its softmax over all experts
  of_chosen,          // its softmax over all experts, divided by the sum over the chosen ones
  softmax_of_chosen,  // its softmax over the chosen ones only (gpt_oss)
};

// A mixture: a layer's experts are MLPs, and a router sends each token through a few of them.
struct Mixture {
  int64_t n_experts = 0;
  int64_t n_chosen = 0;  // per token
  int64_t d_expert = 0;  // width of an expert, like d_mlp of an MLP
  ExpertShare share = ExpertShare::of_chosen;
};

// A clipped gate: min(gate, limit) * sigmoid(alpha * gate) * (1 + up), with up clamped to plus and
// minus limit (gpt_oss).
struct CutGate {
  double alpha = 0;
  double limit = 0;
};

// The part after the last layer. No query or key depends on it.
struct HeadSettings {
  std::optional<bool> tied;  // whether the head is the embedding table; empty: the family's default
  double scale = 1;          // logits are multiplied by it (granite)
  std::optional<double> cap;  // then logits become cap * tanh(logit / cap) (gemma2)
};

// A model's architecture, reduced to what the forward pass needs. Names of sizes follow
// TransformerLens.
struct ModelConfig {
  std::string architecture;  // config.json's model_type, of the text part
  int64_t n_layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t d_model = 0;
  int64_t d_head = 0;
  int64_t d_mlp = 0;
  int64_t vocabulary_size = 0;
  int64_t embedding_rows = 0;  // rows of the embedding table; at least vocabulary_size
  int64_t max_positions = 0;   // max_position_embeddings

  NormKind norm = NormKind::rms;
  double norm_eps = 0;
  QkNorm qk_norm = QkNorm::none;
  Activation activation = Activation::silu;
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool gated = true;               // the MLP is activation(gate) * up; false: activation(up)
  bool parallel_residual = false;  // attention and MLP both read the layer's input
  double attention_scale = 0;
  double embedding_scale = 1;
  double residual_scale = 1;        // factor of what attention and MLP add (granite)
  std::optional<double> clip_qkv;   // projections are clamped to plus and minus this (olmo)
  std::optional<double> score_cap;  // scores become cap * tanh(score / cap) (gemma2)
  bool alibi = false;               // scores fall with distance, with a slope for each head (bloom)
  bool sinks = false;  // each head may attend to nothing, with a learned score (gpt_oss)
  std::optional<CutGate> cut_gate;  // replaces the activation
  std::optional<Mixture> mixture;   // of the layers that have one
  double initializer_range = 0.02;  // standard deviation of fresh weights

  // After RoPE, queries are multiplied by 1 + beta * log(1 + floor(t / original_context))
  // (ministral3).
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
