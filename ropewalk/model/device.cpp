#include "ropewalk/model/device.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes.h"
#include "ropewalk/kernels/passes.h"

namespace ropewalk {
namespace {

bool cpu_multiplies_bfloat16() {
#if defined(__x86_64__)
  constexpr unsigned kAmxBf16 = 1U << 22;    // leaf 7.0, edx
  constexpr unsigned kAvx512Bf16 = 1U << 5;  // leaf 7.1, eax
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0) return true;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
#else
  return false;
#endif
}

// Processes on one machine take its GPUs in turn. Kernels run on the current one, so it is set
// here.
at::Device use_gpu(std::optional<at::Device> asked) {
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  const int count = std::max<int>(1, gpus.deviceCount());
  const at::Device device = asked.value_or(
      at::Device(at::kCUDA, static_cast<at::DeviceIndex>(processes::local_rank() % count)));
  if (device.index() >= count) {
    throw SystemError("--device {}: this machine has {} GPUs, counted from 0", device.str(), count);
  }
  gpus.setDevice(device);
  return device;
}

int gpu_count() { return c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount(); }

}  // namespace

at::Device parse_device(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  const bool gpu = cuda::available() && at::hasCUDA();
  if (name == "auto") return gpu ? use_gpu(std::nullopt) : at::Device(at::kCPU);
  if (name == "cuda" || name.starts_with("cuda:")) {
    if (!gpu) {
      throw SystemError(
          "device {}: there is no CUDA device here, or this program was built without CUDA; use "
          "cpu",
          name);
    }
    if (name == "cuda") return use_gpu(std::nullopt);
    try {
      return use_gpu(at::Device(name));
    } catch (const c10::Error&) {
      // falls through to the message below
    }
  }
  throw UsageError("--device '{}' is unknown; use auto, cpu or cuda", name);
}

at::ScalarType parse_dtype(const std::string& name, const at::Device& device) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "auto") {
    return device.is_cuda() || cpu_multiplies_bfloat16() ? at::kBFloat16 : at::kFloat;
  }
  throw UsageError("--dtype '{}' is unknown; use auto, float32 or bfloat16", name);
}

std::string dtype_name(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bfloat16" : "float32";
}

int64_t default_memory(const at::Device& device) {
  if (device.is_cuda()) {
    const auto [free, total] = c10::getDeviceAllocator(at::kCUDA)->getMemoryInfo(device.index());
    const int sharing = (processes::local_count() + gpu_count() - 1) / gpu_count();
    return static_cast<int64_t>(static_cast<double>(free) * 0.8) / sharing;
  }
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) {
      return kib * 1024 / 5 * 4 / processes::local_count();
    }
  }
  return int64_t{8} << 30;
}

void use_exact_float32() {
  at::globalContext().setFloat32MatmulPrecision("highest");
  at::globalContext().setAllowTF32CuDNN(false);
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
