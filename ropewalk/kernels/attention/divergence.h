#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// KL(softmax(x) || softmax(y)) of every row of x and y [rows, n], float32: [rows] float64. `of_x`
// and `of_y` are their log_sum_exp(). Equal rows give 0. On a CPU it allocates nothing of the size
// of x.
at::Tensor divergence(const at::Tensor& x, const at::Tensor& of_x, const at::Tensor& y,
                      const at::Tensor& of_y);

}  // namespace ropewalk
