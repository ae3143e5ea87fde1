#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// A symmetric matrix with these eigenvalues, in a random basis.
inline at::Tensor with_spectrum(const at::Tensor& values) {
  const int64_t d = values.size(0);
  const at::Tensor basis = std::get<0>(at::linalg_qr(at::randn({d, d}, at::kDouble)));
  const at::Tensor matrix = at::mm(basis * values, basis.t());
  return ((matrix + matrix.t()) / 2).contiguous();
}

}  // namespace ropewalk
