#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Standard normal numbers that depend only on the seed.
inline at::Tensor random_tensor(const std::vector<int64_t>& shape, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  return at::randn(shape, generator, at::TensorOptions().dtype(at::kFloat));
}

// One element as float64.
template <typename... Index>
double element(const at::Tensor& tensor, Index... index) {
  at::Tensor found = tensor;
  for (const int64_t i : {static_cast<int64_t>(index)...}) found = found.select(0, i);
  return found.item<double>();
}

}  // namespace ropewalk
