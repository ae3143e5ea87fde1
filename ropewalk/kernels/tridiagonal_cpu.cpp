#include "ropewalk/kernels/tridiagonal_cpu.h"

#include <vector>

#include "ropewalk/kernels/tridiagonal_rows.h"

namespace ropewalk::cpu {
namespace {

const TridiagonalKernel kTridiagonalPlain = tridiagonal_kernel("plain");

}  // namespace

#ifdef __x86_64__
extern const TridiagonalKernel kTridiagonalAvx512;
extern const TridiagonalKernel kTridiagonalAvx2;
#endif

std::span<const TridiagonalKernel* const> tridiagonal_kernels() {
  static const std::vector<const TridiagonalKernel*> usable = [] {
    std::vector<const TridiagonalKernel*> found;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) found.push_back(&kTridiagonalAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      found.push_back(&kTridiagonalAvx2);
    }
#endif
    found.push_back(&kTridiagonalPlain);
    return found;
  }();
  return usable;
}

}  // namespace ropewalk::cpu
