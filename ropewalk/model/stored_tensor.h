#pragma once

#include <string>
#include <vector>

#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

// The stored tensor, in the file's mapping.
at::Tensor view_of(const TensorView& view);

// The shape that a checkpoint must give the tensor.
std::vector<int64_t> stored_shape(const TensorSpec& spec);

// The needed rows of a stored tensor, in the order of LayerWeights. Nothing is copied: where that
// order differs, the first dimension is split into several.
at::Tensor wanted_rows(const TensorSpec& spec, at::Tensor stored, Needed needed);
// The needed rows, in the order of LayerWeights, of a tensor with the shape of `spec`.
at::Tensor ordered_rows(const TensorSpec& spec, at::Tensor rows, Needed needed);

// Records the hash of a tensor that is being read anyway.
void hash_tensor(const Checkpoint& checkpoint, const std::string& name, const TensorView& view);

}  // namespace ropewalk
