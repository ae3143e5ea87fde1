#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// First and second moments of a document's vectors in each head, with positions 0 … T-1, about
// their own means. All float64, on x's device.
struct Scatter {
  at::Tensor mean;      // [heads, d]
  at::Tensor position;  // [heads, d]: sum of (x - mean)(t - mean t)
  at::Tensor products;  // [heads, d, d]: sum of (x - mean)(x - mean)^T
};

// x is [heads, T, d] in any float dtype and layout. Within a chunk of tokens, vectors are taken
// about the chunk's mean and multiplied in float32; chunks are joined in float64 (Chan, Golub &
// LeVeque 1983), so that a mean far larger than the spread costs no digits.
Scatter document_scatter(const at::Tensor& x);

}  // namespace ropewalk
