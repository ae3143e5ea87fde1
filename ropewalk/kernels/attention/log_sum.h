#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// log(sum(exp(x))) of every row of x [rows, n], float32: [rows] float64. On a CPU it allocates
// nothing of the size of x.
at::Tensor log_sum_exp(const at::Tensor& x);

}  // namespace ropewalk
