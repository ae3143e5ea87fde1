#include "ropewalk/kernels/attention/log_sum.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

TEST(LogSumExp, EqualsFloat64) {
  for (const int64_t width : {1, 7, 64, 97, 4096, 4097, 50000}) {
    for (const double scale : {0.01, 5.0, 80.0}) {
      const at::Tensor x = random_tensor({3, width}, 1) * scale;
      const at::Tensor expected = at::logsumexp(x.to(at::kDouble), 1);
      const at::Tensor found = log_sum_exp(x);
      EXPECT_EQ(found.scalar_type(), at::kDouble);
      EXPECT_LT((found - expected).abs().max().item<double>(), 2e-6) << width << " " << scale;
    }
  }
}

TEST(LogSumExp, TakesPartsOfRows) {
  const at::Tensor x = random_tensor({4, 300}, 2);
  EXPECT_TRUE(
      at::equal(log_sum_exp(x.slice(1, 20, 120)), log_sum_exp(x.slice(1, 20, 120).contiguous())));
}

TEST(LogSumExp, LargeNumbersDoNotOverflow) {
  const at::Tensor x = at::full({1, 1000}, 3e4F);
  EXPECT_NEAR(log_sum_exp(x).item<double>(), 3e4 + std::log(1000.0), 1e-3);
}

TEST(LogSumExp, WhatIsNotFiniteStaysSo) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const int64_t index : {0, 63, 64, 99}) {
      at::Tensor x = random_tensor({2, 100}, 3);
      x[1][index] = bad;
      const at::Tensor found = log_sum_exp(x);
      EXPECT_TRUE(found[0].isfinite().item<bool>());
      EXPECT_FALSE(found[1].isfinite().item<bool>()) << index;
    }
  }
}

}  // namespace
}  // namespace ropewalk
