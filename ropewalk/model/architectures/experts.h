#pragma once

// Code that families with mixtures of experts share.

#include <string>
#include <vector>

#include "ropewalk/model/architectures/common.h"

namespace ropewalk {

// Reads the mixture's sizes, for a mixture in every layer. `d_expert_key` is the key of an expert's
// width.
void read_mixture(const JsonReader& config, const std::string& d_expert_key, ModelConfig& model);

// Reads norm_topk_prob: whether the chosen experts' shares add up to 1.
ExpertShare read_share(const JsonReader& config);

// Llama's layer with a router instead of the MLP.
std::vector<TensorSpec> mixture_tensors(const ModelConfig& config, const std::string& router);

// The names of the projections of one gated expert, which begin with `prefix`.
struct ExpertNames {
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
};
std::vector<TensorSpec> gated_expert_tensors(const ModelConfig& config, const std::string& prefix,
                                             const ExpertNames& names = {});

// Returns the tensors marked as those of some layers only.
std::vector<TensorSpec> restricted_to(TensorSpec::Layers layers, std::vector<TensorSpec> specs);

}  // namespace ropewalk
