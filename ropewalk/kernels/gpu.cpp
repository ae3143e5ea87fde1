#include "ropewalk/kernels/gpu.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
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

void SideStream::run(std::vector<at::Tensor> reads, const std::function<void()>& launch,
                     size_t ahead) {
  finish_all_but(ahead - 1);
  const at::Device device = reads.front().device();
  if (!stream_) stream_ = std::make_unique<c10::Stream>(new_stream(device));
  mark(torch_stream(device))->block(*stream_);
  {
    const c10::StreamGuard guard(*stream_);
    launch();
  }
  running_.push_back({std::move(reads), mark(*stream_)});
}

void SideStream::finish_all_but(size_t latest) {
  for (; running_.size() > latest; running_.pop_front()) {
    const Running& oldest = running_.front();
    oldest.done->block(torch_stream(oldest.reads.front().device()));
  }
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

Heads heads_of(const at::Tensor& vectors, const at::Tensor& chosen) {
  return {vectors.const_data_ptr(), chosen.const_data_ptr<int32_t>(), chosen.size(0),
          vectors.stride(0), vectors.stride(1)};
}

}  // namespace ropewalk
