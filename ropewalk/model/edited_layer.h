#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/layer.h"

namespace ropewalk {

struct Document;

// Whether an edit needs the vectors before RoPE.
bool needs_before_rope(const Edit& edit);

// The values of one document inside a layer of an edit's pass.
struct EditedLayerInput {
  const ModelConfig& config;
  int64_t layer;
  const LayerWeights& weights;
  const Document& document;
  const Projection& before_rope;  // set where needs_before_rope()
  const Projection& vectors;
};

// Overwrites the outputs of the edited heads: attended [T, n_kv_heads, n_q_heads / n_kv_heads,
// d_head] of this document. All other outputs stay.
void edit_outputs(const EditedLayerInput& inside, const Edit& edit, const at::Tensor& attended);

// The most bytes of the device that edit_outputs holds for a document of that many tokens.
int64_t edit_workspace(const ModelConfig& config, const Edit& edit, int64_t tokens,
                       const at::Device& device);

}  // namespace ropewalk
