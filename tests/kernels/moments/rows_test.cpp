#include "ropewalk/kernels/moments/rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/kernels/moments/head_rows.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

TEST(Rows, AddUpLengthsOfPairs) {
  constexpr int64_t kTokens = 5;
  constexpr int64_t kStride = 97;
  const at::Tensor random = random_tensor({kTokens, kStride}, 1);
  for (const int64_t pairs : {1, 7, 16, 45}) {
    for (const auto& [interleaved, type] : {std::pair{false, at::kFloat},
                                            {true, at::kFloat},
                                            {false, at::kBFloat16},
                                            {true, at::kBFloat16}}) {
      const at::Tensor x = random.to(type);
      // sums are added to existing values
      std::vector<double> sum(static_cast<size_t>(pairs) + 1, 3);
      add_lengths(sum.data(), HeadRows(x.unsqueeze(0)).rows(0, 0, kTokens), pairs, interleaved);
      for (int64_t f = 0; f < pairs; ++f) {
        double expected = 3;
        for (int64_t t = 0; t < kTokens; ++t) {
          expected += interleaved ? std::hypot(element(x, t, 2 * f), element(x, t, 2 * f + 1))
                                  : std::hypot(element(x, t, f), element(x, t, pairs + f));
        }
        EXPECT_NEAR(sum[static_cast<size_t>(f)], expected, 1e-5);
      }
      EXPECT_EQ(sum.back(), 3);
    }
  }
}

TEST(Rows, MultiplyAMatrix) {
  for (const int64_t d : {1, 7, 8, 20, 128, 256, 300}) {
    const at::Tensor matrix = random_tensor({d, d}, 2).to(at::kDouble);
    for (const int64_t rows : {0, 1, 2, 3, 4, 17, 23}) {
      const at::Tensor x = random_tensor({rows, d}, 3).to(at::kDouble);
      const at::Tensor expected = at::mm(x, matrix);
      // the row after the end is not changed
      at::Tensor y = at::full({rows + 1, d}, 5, at::kDouble);
      multiply_rows(y.mutable_data_ptr<double>(), x.const_data_ptr<double>(), rows,
                    matrix.const_data_ptr<double>(), d);
      EXPECT_TRUE(at::allclose(y.slice(0, 0, rows), expected, 1e-12, 1e-11)) << rows << " " << d;
      EXPECT_TRUE((y[rows] == 5).all().item<bool>());
      for (int64_t i = 0; i < rows; ++i) {  // one row gives the same as several rows
        at::Tensor alone = at::empty({d}, at::kDouble);
        multiply_rows(alone.mutable_data_ptr<double>(), x[i].const_data_ptr<double>(), 1,
                      matrix.const_data_ptr<double>(), d);
        EXPECT_TRUE(alone.equal(y[i])) << rows << " " << d;
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
