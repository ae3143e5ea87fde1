#include "ropewalk/kernels/products/product_rows.h"

namespace ropewalk::cpu {

extern const ProductKernel kProductAvx512;
const ProductKernel kProductAvx512{"avx512", kRows, copy_rows, multiply};

}  // namespace ropewalk::cpu
