#include "ropewalk/kernels/products/tridiagonal_cpu.h"

#include <vector>

#include "ropewalk/kernels/products/tridiagonal_rows.h"
#include "ropewalk/kernels/usable_kernels.h"

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
    found = usable_kernels(kTridiagonalAvx512, kTridiagonalAvx2);
#endif
    found.push_back(&kTridiagonalPlain);
    return found;
  }();
  return usable;
}

}  // namespace ropewalk::cpu
