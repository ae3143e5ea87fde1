// Whether a row's logits hang on places or on keys, of made ones.
#include "ropewalk/kernels/rows/moved_keys.h"

#include <gtest/gtest.h>

#include "ropewalk/kernels/rows/row_numbers.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

using Row = RowNumber;

// Place and key alone (SCIENCE: 1 and 0, 0 and 1, 0 and 0).
TEST(MovedKeys, TellPlaceFromKey) {
  struct Made {
    const char* name;
    double positional, symbolic;
    bool slopes, constant;
    std::vector<int64_t> varying;  // dimensions of keys before RoPE
  };
  const std::vector<double> theta{1, 0.3, 0.1, 1e-6};  // the last does not turn in 1,000 tokens
  const auto pairs = static_cast<int64_t>(theta.size());
  constexpr int64_t kTokens = 1000, kSize = 12;
  const at::Tensor turns =
      at::arange(kTokens, at::kDouble).unsqueeze(1) * at::tensor(theta, at::kDouble);
  for (const Made& made : {Made{"constant keys", 1, 0, false, true, {}},
                           Made{"constant keys, ALiBi", 1, 0, true, true, {}},
                           Made{"what does not turn", 0, 1, false, false, {8, 9, 10, 11}},
                           Made{"what turns slowly", 0, 1, false, false, {3, 7}},
                           Made{"the fastest pairs", 0, 0, false, false, {0, 1, 4, 5}}}) {
    QueryRows rows;
    for (int64_t t = 40; t < kTokens; t += 30) rows.t.push_back(t);
    at::Tensor k = made.constant
                       ? random_tensor({2, 1, kSize}, 5).expand({2, kTokens, kSize}).clone()
                       : at::zeros({2, kTokens, kSize});
    for (const int64_t dimension : made.varying) {
      k.select(2, dimension).copy_(random_tensor({2, kTokens}, static_cast<uint64_t>(dimension)));
    }
    at::Tensor q = random_tensor({2, kTokens, kSize}, 6);
    if (!made.slopes) {
      rows.cos = turns.cos().to(at::kFloat);
      rows.sin = turns.sin().to(at::kFloat);
      for (at::Tensor* x : {&q, &k}) {
        const at::Tensor a = x->narrow(2, 0, pairs).clone(), b = x->narrow(2, pairs, pairs).clone();
        x->narrow(2, 0, pairs).copy_(a * rows.cos - b * rows.sin);
        x->narrow(2, pairs, pairs).copy_(b * rows.cos + a * rows.sin);
      }
    } else {
      rows.scores.slopes = at::tensor({0.5F, 0.01F});
    }
    rows.q = q.index_select(1, at::tensor(rows.t, at::kLong));
    rows.k = k;
    rows.kv = {0, 1};
    rows.tokens = at::zeros({kTokens}, at::kInt);
    rows.seed = 3;
    const at::Tensor found = row_numbers(rows, distance_parts(kTokens)).numbers.sum(1);
    const auto mean = [&](int64_t column) {
      return (found.select(1, column) / found.select(1, Row::moved_rows)).mean().item<double>();
    };
    EXPECT_NEAR(mean(Row::positional), made.positional, 0.05) << made.name;
    EXPECT_NEAR(mean(Row::symbolic), made.symbolic, 0.05) << made.name;
  }
}

}  // namespace
}  // namespace ropewalk
