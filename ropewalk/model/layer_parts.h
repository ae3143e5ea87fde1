#pragma once

#include <algorithm>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

// The parts of a layer's MLP and of its experts.
namespace ropewalk {

// x [T, d_model], normalised as in the family; unchanged where the family has no norm there.
at::Tensor norm(const ModelConfig& config, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias = {});

// The input of an MLP's down projection: [T, d_mlp].
at::Tensor mlp_inner(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x);

// The number of rows of that dtype for everything but attention, some thousand, so that
// intermediate results take little memory.
int64_t rows_at_a_time(at::ScalarType dtype, const at::Device& device);

// Calls step(begin, end) for the rows of x.
template <typename Step>
void for_rows(const at::Tensor& x, Step step) {
  const int64_t count = x.size(0);
  const int64_t rows = rows_at_a_time(x.scalar_type(), x.device());
  for (int64_t begin = 0; begin < count; begin += rows) step(begin, std::min(begin + rows, count));
}

}  // namespace ropewalk
