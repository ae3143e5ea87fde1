#pragma once

#include <vector>

namespace ropewalk::cpu {

// Of a kernel's bodies for two kinds of processors, those that this one can run, the faster first.
// Only on x86-64.
template <typename Kernel>
std::vector<const Kernel*> usable_kernels(const Kernel& avx512, const Kernel& avx2) {
  std::vector<const Kernel*> usable;
  if (__builtin_cpu_supports("avx512f")) usable.push_back(&avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&avx2);
  return usable;
}

}  // namespace ropewalk::cpu
