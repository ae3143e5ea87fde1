#pragma once

#include "ropewalk/analysis/head_cases.h"

namespace ropewalk {

// The direction of largest variance of C + weight · u uᵀ, among the directions orthogonal to
// `without` where that is given. C is known by its eigenvalues and vectors, so that no eigenproblem
// is solved anew: the largest eigenvalue is the root of a secular equation (Golub 1973), found by
// counting eigenvalues above a guess.
struct UpdatedAxis {
  at::Tensor vectors;  // [cases, d], of length 1; signs as they come
  at::Tensor values;   // [cases]
};
UpdatedAxis updated_axis(const at::Tensor& values, const at::Tensor& basis,
                         const at::Tensor& update, double sign,
                         const at::Tensor& without = at::Tensor());

}  // namespace ropewalk
