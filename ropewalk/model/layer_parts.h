#pragma once

#include <algorithm>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

// What a layer's MLP and its experts are made of.
namespace ropewalk {

// x [T, d_model], normalised as the family does; as it is where the family has no norm there.
at::Tensor norm(const ModelConfig& config, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias = {});

// What the down projection of an MLP takes: [T, d_mlp].
at::Tensor mlp_inner(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x);

// Everything but attention is done some thousand rows of that dtype at a time, so that what one
// step writes takes little memory.
int64_t rows_at_a_time(at::ScalarType dtype, const at::Device& device);

// Calls step(begin, end) for the rows of x.
template <typename Step>
void for_rows(const at::Tensor& x, Step step) {
  const int64_t count = x.size(0);
  const int64_t rows = rows_at_a_time(x.scalar_type(), x.device());
  for (int64_t begin = 0; begin < count; begin += rows) step(begin, std::min(begin + rows, count));
}

}  // namespace ropewalk
