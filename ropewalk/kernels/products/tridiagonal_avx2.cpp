#include "ropewalk/kernels/products/tridiagonal_rows.h"

namespace ropewalk::cpu {

extern const TridiagonalKernel kTridiagonalAvx2;
constexpr TridiagonalKernel kTridiagonalAvx2 = tridiagonal_kernel("avx2");

}  // namespace ropewalk::cpu
