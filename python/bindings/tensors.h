#pragma once

#include "python/bindings/bindings.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk::python {

// Tensors are passed as DLPack capsules, which share memory on any device and work with every
// version of torch's Python module.

// The tensor in a capsule of torch.utils.dlpack.to_dlpack. The capsule cannot be used again.
at::Tensor take_tensor(nb::handle capsule);

// A capsule for torch.utils.dlpack.from_dlpack.
nb::object give_tensor(const at::Tensor& tensor);

}  // namespace ropewalk::python
