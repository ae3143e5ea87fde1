#include "ropewalk/kernels/gpu/gpu.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>

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
    const RunningWork& oldest = running_.front();
    oldest.done->block(torch_stream(oldest.reads.front().device()));
  }
}

void copy_to_host(const at::Tensor& from, const at::Tensor& to) {
  constexpr int64_t kRoom = int64_t{1} << 20;  // numbers at a time
  const int64_t room = std::min(from.numel(), kRoom);
  std::array<at::Tensor, 2> rooms;
  for (at::Tensor& one : rooms) one = at::empty({room}, to.options().pinned_memory(true));
  std::array<std::shared_ptr<c10::Event>, 2> arrived;
  const int64_t parts = at::divup(from.numel(), kRoom);
  // Copies one part while the next one is transferred.
  for (int64_t part = 0; part <= parts; ++part) {
    const auto room_of = [&](int64_t no) { return static_cast<size_t>(no % 2); };
    const auto slice = [&](const at::Tensor& all, int64_t no) {
      return all.slice(0, no * kRoom, std::min((no + 1) * kRoom, all.numel()));
    };
    if (part < parts) {
      const at::Tensor next = slice(from, part);
      rooms[room_of(part)].slice(0, 0, next.numel()).copy_(next, /*non_blocking=*/true);
      arrived[room_of(part)] = mark(torch_stream(from.device()));
    }
    if (part == 0) continue;
    arrived[room_of(part - 1)]->synchronize();
    const at::Tensor here = slice(to, part - 1);
    here.copy_(rooms[room_of(part - 1)].slice(0, 0, here.numel()));
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

StridedHeads heads_of(const at::Tensor& vectors, const at::Tensor& chosen) {
  return {vectors.const_data_ptr(), chosen.const_data_ptr<int32_t>(), chosen.size(0),
          vectors.stride(0), vectors.stride(1)};
}

}  // namespace ropewalk
