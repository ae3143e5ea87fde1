#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/layer.h"

namespace ropewalk {

struct Document;

// Whether an edit changes vectors by what they were before RoPE.
bool needs_before_rope(const Edit& edit);

// What is known of one document inside a layer of the pass that an edit changes.
struct EditedLayerInput {
  const ModelConfig& config;
  int64_t layer;
  const LayerWeights& weights;
  const Document& document;
  const Projection& before_rope;  // where needs_before_rope()
  const Projection& vectors;
};

// Replaces what the edited heads give, in place: attended [T, n_kv_heads, n_q_heads / n_kv_heads,
// d_head] of this document. All else stays as it is.
void edit_outputs(const EditedLayerInput& inside, const Edit& edit, const at::Tensor& attended);

// Bytes of the device that edit_outputs may hold for a document of so many tokens.
int64_t edit_workspace(const ModelConfig& config, const Edit& edit, int64_t tokens,
                       const at::Device& device);

}  // namespace ropewalk
