#include "ropewalk/kernels/products/product_rows.h"

namespace ropewalk::cpu {

extern const ProductKernel kProductAvx2;
const ProductKernel kProductAvx2{"avx2", kRows, copy_rows, multiply};

}  // namespace ropewalk::cpu
