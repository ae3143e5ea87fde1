#pragma once

#include <functional>
#include <span>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

// Returns an expert's weights. It is called once for each expert that has tokens, in order.
using ExpertSource = std::function<LayerWeights(int64_t expert)>;

// Runs the experts of a layer for documents [T, d_model] after attention, and adds their outputs to
// each document. Experts are the outer loop, so that each is read once for all documents; each
// product takes one document's tokens, so that its arithmetic does not depend on the others.
void add_experts(const ModelConfig& config, const LayerWeights& weights, const ExpertSource& source,
                 std::span<at::Tensor> documents);

// The bytes that add_experts holds for each token of all documents.
int64_t mixture_state(const ModelConfig& config);
// The further bytes that it holds where the longest document has `tokens`.
int64_t mixture_workspace(const ModelConfig& config, int64_t tokens, int64_t element_size,
                          const at::Device& device);

}  // namespace ropewalk
