#include "ropewalk/kernels/products/tridiagonal_rows.h"

namespace ropewalk::cpu {

extern const TridiagonalKernel kTridiagonalAvx512;
constexpr TridiagonalKernel kTridiagonalAvx512 = tridiagonal_kernel("avx512");

}  // namespace ropewalk::cpu
