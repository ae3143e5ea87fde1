#include "ropewalk/kernels/gpu.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "ropewalk/base/error.h"

namespace ropewalk {

c10::Stream torch_stream(const at::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

c10::Stream new_stream(const at::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

std::shared_ptr<c10::Event> mark(const c10::Stream& stream) {
  auto event = std::make_shared<c10::Event>(stream.device_type());
  event->record(stream);
  return event;
}

cuda::Stream current_stream(const at::Tensor& tensor) {
  return torch_stream(tensor.device()).native_handle();
}

Number number_type(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return Number::float32;
  if (tensor.scalar_type() == at::kBFloat16) return Number::bfloat16;
  throw UsageError("[kernels] numbers are {}, expected float32 or bfloat16",
                   c10::toString(tensor.scalar_type()));
}

}  // namespace ropewalk
