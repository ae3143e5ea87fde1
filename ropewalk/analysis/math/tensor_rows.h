#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The first number of row i of a float64 tensor.
inline const double* row(const at::Tensor& rows, int64_t i) {
  return rows.const_data_ptr<double>() + i * rows.stride(0);
}
inline double* mutable_row(const at::Tensor& rows, int64_t i) {
  return rows.mutable_data_ptr<double>() + i * rows.stride(0);
}

}  // namespace ropewalk
