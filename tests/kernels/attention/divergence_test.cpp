#include "ropewalk/kernels/attention/divergence.h"

#include <gtest/gtest.h>

#include "ropewalk/kernels/attention/log_sum.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

at::Tensor found(const at::Tensor& x, const at::Tensor& y) {
  return divergence(x, log_sum_exp(x), y, log_sum_exp(y));
}

TEST(Divergence, EqualsFloat64) {
  for (const int64_t width : {1, 7, 64, 97, 4097, 50000}) {
    for (const double scale : {0.01, 2.0, 20.0}) {
      const at::Tensor x = random_tensor({3, width}, 1) * scale;
      const at::Tensor y = x + random_tensor({3, width}, 2) * 0.3;
      const at::Tensor p = at::log_softmax(x.to(at::kDouble), 1);
      const at::Tensor expected = (p.exp() * (p - at::log_softmax(y.to(at::kDouble), 1))).sum(1);
      EXPECT_LT((found(x, y) - expected).abs().max().item<double>(), 5e-6) << width << " " << scale;
    }
  }
}

TEST(Divergence, OfEqualRowsIsZero) {
  const at::Tensor x = random_tensor({5, 777}, 3);
  EXPECT_TRUE(found(x, x.clone()).eq(0).all().item<bool>());
}

TEST(Divergence, TakesPartsOfRows) {
  const at::Tensor x = random_tensor({4, 300}, 4), y = random_tensor({4, 300}, 5);
  const at::Tensor some_x = x.slice(1, 20, 120), some_y = y.slice(1, 20, 120);
  EXPECT_TRUE(at::equal(found(some_x, some_y), found(some_x.contiguous(), some_y.contiguous())));
}

}  // namespace
}  // namespace ropewalk
