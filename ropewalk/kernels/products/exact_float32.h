#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// While it lives, float32 means float32: products use neither TF32 nor bfloat16, and sums of
// bfloat16 products are kept in float32, whatever the host program has set. The settings are
// torch's and apply to all threads; the former ones return when the last object ends.
class ExactFloat32 {
 public:
  ExactFloat32();
  ~ExactFloat32();
  ExactFloat32(const ExactFloat32&) = delete;
  ExactFloat32& operator=(const ExactFloat32&) = delete;

  // Multiplies on the device and throws SystemError where digits are lost all the same: cuBLAS
  // reads NVIDIA_TF32_OVERRIDE when it starts, which may have been earlier.
  void require_on(const at::Device& device) const;
};

}  // namespace ropewalk
