#pragma once

#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// A few numbers of the host where a device's tensors are; no stream is waited for.
template <typename Number>
at::Tensor on_device(const std::vector<Number>& numbers, const at::Device& device) {
  const at::Tensor here = at::tensor(numbers, c10::CppTypeToScalarType<Number>::value);
  return device.is_cuda() ? here.pin_memory().to(device, /*non_blocking=*/true) : here;
}

}  // namespace ropewalk
