#include "ropewalk/kernels/products/symmetric.h"

#include <gtest/gtest.h>

#include "ropewalk/kernels/moments/moments.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

// Equal to operations on tensors, bit for bit.
TEST(Symmetric, IsWhatTensorsGive) {
  for (const int64_t d : {1, 5, 8, 13, 128}) {
    const at::Tensor packed = random_tensor({3, d * (d + 1) / 2}, 1);
    const at::Tensor wide = packed.to(at::kDouble);
    at::Tensor from_single = at::full({d, d}, 7, at::kDouble);
    at::Tensor from_double = at::full({d, d}, 7, at::kDouble);
    unpack_symmetric(from_single.mutable_data_ptr<double>(), packed.const_data_ptr<float>(), d);
    unpack_symmetric(from_double.mutable_data_ptr<double>(), wide.const_data_ptr<double>(), d);
    const at::Tensor matrices = unpack_triangle(wide, d);
    EXPECT_TRUE(from_single.equal(matrices[0])) << d;
    EXPECT_TRUE(from_double.equal(matrices[0])) << d;

    const at::Tensor offset = random_tensor({d}, 2).to(at::kDouble);
    const at::Tensor between = offset.unsqueeze(1) * offset.unsqueeze(0) * 0.3;
    const double *a = matrices[1].const_data_ptr<double>(), *o = offset.const_data_ptr<double>();
    const double* b = matrices[2].const_data_ptr<double>();
    at::Tensor made = at::empty({d, d}, at::kDouble);
    subtract_part(made.mutable_data_ptr<double>(), a, b, o, 0.3, d);
    EXPECT_TRUE(made.equal(matrices[1] - matrices[2] - between)) << d;
    pool_matrices(made.mutable_data_ptr<double>(), a, b, o, 0.3, 7, d);
    EXPECT_TRUE(made.equal((matrices[1] + matrices[2] + between) / 7)) << d;
  }
}

}  // namespace
}  // namespace ropewalk
