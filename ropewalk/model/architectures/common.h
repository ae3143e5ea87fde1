#pragma once

// Code that the architecture files share: reading common keys, naming common tensors.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/architecture.h"

namespace ropewalk {

// The values that a family assumes where config.json leaves a key out. Zero: the key must be there.
struct CommonDefaults {
  double norm_eps = 1e-6;
  const char* norm_eps_key = "rms_norm_eps";
  int64_t d_head = 0;  // 0: hidden_size / num_attention_heads
  const char* activation_key = "hidden_act";
  const char* activation = "silu";
  int64_t d_mlp_times = 0;  // of hidden_size
  int64_t max_positions = 0;
};

// Returns the config with keys renamed from old to new names {old, new}, where only the old one is
// there.
JsonReader rename_keys(const JsonReader& config,
                       std::initializer_list<std::pair<const char*, const char*>> names);

// Reads sizes, heads, activation and norm_eps; sets full attention with RoPE in every layer, no
// biases, and the attention scale 1/sqrt(d_head). Throws InputError for sizes that do not fit
// together.
ModelConfig read_common(const JsonReader& config, const CommonDefaults& defaults = {});

RopeTraits rope_traits(const ModelConfig& config);

// Reads config.json's layer_types, one per layer, or an empty list; accepts full_attention and
// sliding_attention.
std::vector<std::string> read_layer_types(const JsonReader& config, int64_t n_layers);

// Gives this window to layers whose type is sliding_attention; has no effect without a window.
void apply_layer_types(ModelConfig& model, const std::vector<std::string>& types,
                       std::optional<int64_t> window);

// Lists of tensors. Biases follow the flags in ModelConfig.
std::vector<TensorSpec> attention_tensors(const ModelConfig& config);  // q, k, v, o projections
std::vector<TensorSpec> gated_mlp_tensors(const ModelConfig& config);  // gate, up, down projections
TensorSpec norm_tensor(const ModelConfig& config, const std::string& name,
                       at::Tensor LayerWeights::*destination, Needed needed_for);

// Llama's layer: a norm before attention and one before the gated MLP.
std::vector<TensorSpec> pre_norm_tensors(const ModelConfig& config);

// GPT-NeoX's layer: LayerNorms, an MLP without a gate, and q, k and v in one matrix, head by head,
// whose name begins with `attention`.
std::vector<TensorSpec> head_by_head_tensors(const ModelConfig& config,
                                             const std::string& attention);

// OLMo 2's layer: norms after attention and MLP, none before them.
std::vector<TensorSpec> post_norm_tensors(const ModelConfig& config);

// Gemma's layer: norms before and after both attention and MLP.
std::vector<TensorSpec> surrounding_norm_tensors(const ModelConfig& config);

// Sets what GPT-2 and the models soon after it have in common: LayerNorm and biases everywhere, as
// many KV heads as query heads, no gate, no RoPE.
void set_gpt2_defaults(ModelConfig& model);

// Reads what all Gemmas have in common.
ModelConfig read_gemma(const JsonReader& config);

std::vector<TensorSpec> join(std::initializer_list<std::vector<TensorSpec>> parts);

}  // namespace ropewalk
