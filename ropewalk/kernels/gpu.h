#pragma once

#include <memory>

#include "ropewalk/kernels/passes.h"
#include "ropewalk/kernels/torch.h"

namespace c10 {
struct Event;
}

namespace ropewalk {

// The stream that torch launches its kernels on in this thread; one beside it; as our kernels take
// it.
c10::Stream torch_stream(const at::Device& device);
c10::Stream new_stream(const at::Device& device);
cuda::Stream current_stream(const at::Tensor& tensor);

// A GPU runs behind the program: an event says how far a stream has come.
std::shared_ptr<c10::Event> mark(const c10::Stream& stream);

Number number_type(const at::Tensor& tensor);

}  // namespace ropewalk
