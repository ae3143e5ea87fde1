#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The direction of largest variance of D + sign · u uᵀ, where D is diagonal and ascending; where
// `without` is given, among the directions orthogonal to it. D is a matrix in the basis of its
// eigenvectors, so no new eigenproblem has to be solved: the largest eigenvalue is the root of a
// secular equation (Golub 1973), found by counting eigenvalues above a guess.
struct UpdatedAxis {
  at::Tensor vectors;  // [replicates, d], of length 1, with arbitrary signs
  at::Tensor values;   // [replicates]
};
UpdatedAxis updated_axis(const at::Tensor& diagonal, const at::Tensor& update, double sign,
                         const at::Tensor& without = at::Tensor());

// The variance along the second widest direction of one such problem; the vectors are [d].
double next_value(const at::Tensor& diagonal, const at::Tensor& update, double sign, double largest,
                  const at::Tensor& without = at::Tensor());

}  // namespace ropewalk
