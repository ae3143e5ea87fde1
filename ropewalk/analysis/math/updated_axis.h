#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The direction of largest variance of D + sign · u uᵀ, D diagonal and ascending, among the
// directions orthogonal to `without` where that is given. In the basis of a matrix's eigenvectors
// no eigenproblem is solved anew: the largest eigenvalue is the root of a secular equation (Golub
// 1973), found by counting eigenvalues above a guess.
struct UpdatedAxis {
  at::Tensor vectors;  // [replicates, d], of length 1; signs as they come
  at::Tensor values;   // [replicates]
};
UpdatedAxis updated_axis(const at::Tensor& diagonal, const at::Tensor& update, double sign,
                         const at::Tensor& without = at::Tensor());

// The variance along the next widest direction of one such problem: [d] each, and the largest.
double next_value(const at::Tensor& diagonal, const at::Tensor& update, double sign, double largest,
                  const at::Tensor& without = at::Tensor());

}  // namespace ropewalk
