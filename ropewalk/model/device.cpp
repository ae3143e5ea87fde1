#include "ropewalk/model/device.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/free_memory.h"
#include "ropewalk/kernels/gpu/passes.h"

namespace ropewalk {
namespace {

// Processes on one machine take its GPUs in turn. Kernels run on the current GPU, so it is set
// here.
at::Device use_gpu(std::optional<at::Device> asked, const Communicator& processes) {
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  const int count = std::max<int>(1, gpus.deviceCount());
  const at::Device device = asked.value_or(
      at::Device(at::kCUDA, static_cast<at::DeviceIndex>(processes.local_rank() % count)));
  if (device.index() >= count) {
    throw SystemError(Field{"device"}, " {}: this machine has {} GPU{}, counted from 0",
                      device.str(), count, count == 1 ? "" : "s");
  }
  gpus.setDevice(device);
  return device;
}

int gpu_count() { return c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount(); }

}  // namespace

at::Device parse_device(const std::string& name, const Communicator& processes) {
  if (name == "cpu") return at::Device(at::kCPU);
  const bool gpu = cuda::available() && at::hasCUDA();
  if (name == "auto") return gpu ? use_gpu(std::nullopt, processes) : at::Device(at::kCPU);
  if (name == "cuda" || name.starts_with("cuda:")) {
    if (!gpu) {
      throw SystemError(Field{"device"},
                        " {}: there is no CUDA device here, or this program was built without "
                        "CUDA; use cpu",
                        name);
    }
    if (name == "cuda") return use_gpu(std::nullopt, processes);
    try {
      return use_gpu(at::Device(name), processes);
    } catch (const c10::Error&) {
      // falls through to the message below
    }
  }
  throw UsageError(Field{"device"}, " '{}' is unknown; use auto, cpu or cuda", name);
}

int64_t default_memory(const at::Device& device, const Communicator& processes) {
  if (device.is_cuda()) {
    const auto [free, total] = c10::getDeviceAllocator(at::kCUDA)->getMemoryInfo(device.index());
    const int sharing = (processes.local_count() + gpu_count() - 1) / gpu_count();
    return static_cast<int64_t>(static_cast<double>(free) * 0.8) / sharing;
  }
  return free_memory() / 5 * 4 / processes.local_count();
}

int64_t peak_memory(const at::Device& gpu) {
  return c10::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index()).allocated_bytes[0].peak;
}

double product_rate(at::ScalarType dtype, const at::Device& device) {
  constexpr int64_t kSize = 1024;
  const at::Tensor a = at::ones({kSize, kSize}, at::TensorOptions().dtype(dtype).device(device));
  at::mm(a, a);
  const auto start = std::chrono::steady_clock::now();
  int64_t products = 0;
  double seconds = 0;
  while (seconds < 0.2) {
    at::mm(a, a).select(0, 0).select(0, 0).item<float>();
    ++products;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return 2.0 * kSize * kSize * kSize * static_cast<double>(products) / seconds;
}

}  // namespace ropewalk
