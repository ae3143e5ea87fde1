#pragma once

// What the families with mixtures of experts share.

#include <string>
#include <vector>

#include "ropewalk/model/architectures/common.h"

namespace ropewalk {

// The mixture's sizes; every layer has one. `d_expert_key` says how wide an expert is.
void read_mixture(const JsonReader& config, const std::string& d_expert_key, ModelConfig& model);

// norm_topk_prob: whether the chosen experts' shares add up to 1.
ExpertShare read_share(const JsonReader& config);

// Llama's layer with a router in place of the MLP.
std::vector<TensorSpec> mixture_tensors(const ModelConfig& config, const std::string& router);

// The projections of one gated expert, whose names begin with `prefix`.
struct ExpertNames {
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
};
std::vector<TensorSpec> gated_expert_tensors(const ModelConfig& config, const std::string& prefix,
                                             const ExpertNames& names = {});

// The same tensors, as those of some layers alone.
std::vector<TensorSpec> restricted_to(TensorSpec::Layers layers, std::vector<TensorSpec> specs);

}  // namespace ropewalk
