#pragma once

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

class Checkpoint;

// The tensors that logits need beyond the layers, with their full names: the final norm and the
// head, which may be the embedding table. `root` is the root of the model's names in this
// checkpoint. Throws InputError where the checkpoint was saved without a head.
std::vector<TensorSpec> head_specs(const Architecture& architecture, const ModelConfig& config,
                                   const Checkpoint& checkpoint, const std::string& root);

// Computes logits from the output of the last layer: hidden [T, d_model] → logits [T, words],
// float32, by final norm, head, scale and cap.
at::Tensor logits(const ModelConfig& config, const LayerWeights& head, const at::Tensor& hidden);

// The number of rows whose logits are computed at a time, so that tokens × vocabulary is never
// held.
int64_t logit_rows(const ModelConfig& config);
// The bytes of the device that these rows take.
int64_t logits_workspace(const ModelConfig& config, at::ScalarType dtype);

}  // namespace ropewalk
