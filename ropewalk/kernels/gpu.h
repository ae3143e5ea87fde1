#pragma once

#include "ropewalk/kernels/passes.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The stream that torch launches its kernels on in this thread; as our kernels take it.
c10::Stream torch_stream(const at::Device& device);
cuda::Stream current_stream(const at::Tensor& tensor);

Number number_type(const at::Tensor& tensor);

}  // namespace ropewalk
