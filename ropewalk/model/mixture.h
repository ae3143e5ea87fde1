#pragma once

#include <functional>
#include <span>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

// Gives an expert's weights. Asked once for each expert that has tokens, in order.
using ExpertSource = std::function<LayerWeights(int64_t expert)>;

// The experts of a layer, for documents [T, d_model] whose attention is done: what the experts give
// is added to each. Experts are the outer loop, so that one is read once for all documents;
// products are of one document's tokens, whose arithmetic does not depend on the others.
void add_experts(const ModelConfig& config, const LayerWeights& weights, const ExpertSource& source,
                 std::span<at::Tensor> documents);

// Bytes that add_experts holds for each token of all documents.
int64_t mixture_state(const ModelConfig& config);
// And beyond those, where the longest document has `tokens`.
int64_t mixture_workspace(const ModelConfig& config, int64_t tokens, int64_t element_size,
                          const at::Device& device);

}  // namespace ropewalk
