#pragma once

#include <string>
#include <vector>

#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

// The stored tensor, on the file's mapping.
at::Tensor view_of(const TensorView& view);

// The shape that a checkpoint must give the tensor.
std::vector<int64_t> stored_shape(const TensorSpec& spec);

// Throws InputError where the checkpoint has no such tensor, or one of another shape.
void require_shape(const Checkpoint& checkpoint, const std::string& name,
                   const std::vector<int64_t>& shape);

// The rows that are needed of a stored tensor, in the order of LayerWeights. Not copied: where that
// order is another, the first dimension comes in several.
at::Tensor wanted_rows(const TensorSpec& spec, at::Tensor stored, Needed needed);
// Likewise of one that has the shape of `spec`.
at::Tensor ordered_rows(const TensorSpec& spec, at::Tensor rows, Needed needed);

// Notes the hash of a tensor that is being read anyway.
void hash_tensor(const Checkpoint& checkpoint, const std::string& name, const TensorView& view);

}  // namespace ropewalk
