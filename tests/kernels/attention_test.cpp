#include "ropewalk/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

// Softmax over the tokens a query sees, one query at a time in float64: [T, heads * d].
at::Tensor naive_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           double scale, int64_t window) {
  const int64_t heads = q.size(0);
  const int64_t tokens = q.size(1);
  const int64_t group = heads / k.size(0);
  std::vector<at::Tensor> columns;
  for (int64_t head = 0; head < heads; ++head) {
    const at::Tensor queries = q.select(0, head).to(at::kDouble);
    const at::Tensor keys = k.select(0, head / group).to(at::kDouble);
    const at::Tensor values = v.select(0, head / group).to(at::kDouble);
    std::vector<at::Tensor> rows;
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t first = std::max<int64_t>(0, t - window + 1);
      const at::Tensor scores = keys.slice(0, first, t + 1).mv(queries.select(0, t)) * scale;
      const at::Tensor weights = (scores - scores.max()).exp();
      rows.push_back(values.slice(0, first, t + 1).t().mv(weights) / weights.sum());
    }
    columns.push_back(at::stack(rows));
  }
  return at::stack(columns, 1).reshape({tokens, -1});
}

struct Shape {
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t tokens = 5;
  std::optional<int64_t> window = {};
};

double error_of(const Shape& shape) {
  constexpr int64_t kWidth = 4;
  constexpr double kScale = 0.7;
  const at::Tensor q = random_tensor({shape.heads, shape.tokens, kWidth}, 1) * 2;
  const at::Tensor k = random_tensor({shape.kv_heads, shape.tokens, kWidth}, 2) * 2;
  const at::Tensor v = random_tensor({shape.kv_heads, shape.tokens, kWidth}, 3);
  const at::Tensor heads = causal_attention(q, k, v, kScale, shape.window);
  EXPECT_EQ(heads.sizes(), (std::vector<int64_t>{shape.tokens, shape.kv_heads,
                                                 shape.heads / shape.kv_heads, kWidth}));
  const at::Tensor out = heads.flatten(1);
  const at::Tensor expected = naive_attention(q, k, v, kScale, shape.window.value_or(shape.tokens));
  return (out.to(at::kDouble) - expected).abs().max().item<double>();
}

constexpr double kTolerance = 5e-6;

TEST(CausalAttention, SeesOnlyThePast) {
  for (const int64_t tokens : {1, 2, 33}) {
    EXPECT_LT(error_of({.tokens = tokens}), kTolerance) << tokens;
  }
}

TEST(CausalAttention, QueryHeadsShareKeyHeads) {
  EXPECT_LT(error_of({.heads = 6, .kv_heads = 2, .tokens = 19}), kTolerance);
  EXPECT_LT(error_of({.heads = 4, .kv_heads = 1, .tokens = 19}), kTolerance);
  EXPECT_LT(error_of({.heads = 6, .kv_heads = 3, .tokens = 19, .window = 5}), kTolerance);
}

TEST(CausalAttention, Windows) {
  for (const int64_t window : {1, 2, 16, 32, 33, 34, 1000}) {
    EXPECT_LT(error_of({.tokens = 33, .window = window}), kTolerance) << window;
  }
}

// Sliding layers take 1,024 queries at a time; the borders of these blocks must not show.
TEST(CausalAttention, WindowsAcrossBlocks) {
  for (const int64_t tokens : {1023, 1024, 1025, 2049}) {
    for (const int64_t window : {1, 7, 1022}) {
      EXPECT_LT(error_of({.heads = 1, .kv_heads = 1, .tokens = tokens, .window = window}),
                kTolerance)
          << tokens << " tokens, window " << window;
    }
  }
  EXPECT_LT(error_of({.heads = 1, .kv_heads = 1, .tokens = 2049, .window = 1500}), kTolerance);
}

TEST(CausalAttention, WorkspaceGrowsWithTheWindowNotItsSquare) {
  const auto bytes = [](int64_t tokens, std::optional<int64_t> window) {
    return causal_attention_workspace(4, tokens, 64, 4, window);
  };
  EXPECT_EQ(bytes(4096, 4096), bytes(4096, {})) << "a window as long as the text hides nothing";
  EXPECT_LT(bytes(65536, 512) - bytes(65536, {}), int64_t{1} << 25) << "never [T, T]";
}

}  // namespace
}  // namespace ropewalk
