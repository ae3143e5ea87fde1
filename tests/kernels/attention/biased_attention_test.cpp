#include "ropewalk/kernels/attention/biased_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ropewalk/kernels/attention/attention.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

// The reference, number by number, in float64.
at::Tensor plain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const ScoreOptions& options) {
  const int64_t heads = q.size(0);
  const int64_t tokens = q.size(1);
  const int64_t groups = heads / k.size(0);
  at::Tensor out = at::empty({tokens, k.size(0), groups, q.size(2)}, at::kDouble);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t first = std::max<int64_t>(0, t - options.window.value_or(tokens) + 1);
      at::Tensor scores =
          at::mv(k[h / groups].slice(0, first, t + 1).to(at::kDouble), q[h][t].to(at::kDouble)) *
          options.scale;
      if (options.cap) scores = *options.cap * at::tanh(scores / *options.cap);
      if (options.slopes.defined()) {
        scores = scores + options.slopes[h].to(at::kDouble) * at::arange(first, t + 1, at::kDouble);
      }
      if (options.sinks.defined()) {
        scores = at::cat({scores, options.sinks.slice(0, h, h + 1).to(at::kDouble)});
      }
      const at::Tensor weights = at::softmax(scores, 0).slice(0, 0, t + 1 - first);
      out[t][h / groups][h % groups] =
          at::mv(v[h / groups].slice(0, first, t + 1).to(at::kDouble).t(), weights);
    }
  }
  return out;
}

double worst(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kDouble) - expected).abs().max().item<double>();
}

TEST(BiasedAttention, CapsAlibiAndWindows) {
  for (const int64_t tokens : {1, 33, 300}) {
    const at::Tensor q = random_tensor({6, tokens, 10}, 1);
    const at::Tensor k = random_tensor({2, tokens, 10}, 2);
    const at::Tensor v = random_tensor({2, tokens, 10}, 3);
    for (const ScoreOptions& options :
         {ScoreOptions{0.4, {}, 1.5}, ScoreOptions{0.4, {}, {}, alibi_slopes(6)},
          ScoreOptions{0.3, 17, 0.7}, ScoreOptions{0.3, 40, 2.0, alibi_slopes(6)}}) {
      EXPECT_LT(worst(biased_attention(q, k, v, options), plain(q, k, v, options)), 1e-5) << tokens;
    }
  }
}

TEST(BiasedAttention, Sinks) {
  const at::Tensor q = random_tensor({6, 130, 10}, 1);
  const at::Tensor k = random_tensor({2, 130, 10}, 2);
  const at::Tensor v = random_tensor({2, 130, 10}, 3);
  const at::Tensor sinks = 3 * random_tensor({6}, 4);
  // A sink far above all scores takes all the weight, but does not overflow.
  for (const at::Tensor& scores : {sinks, sinks + 200, sinks - 200}) {
    for (const std::optional<int64_t> window : {std::optional<int64_t>(), {17}}) {
      const ScoreOptions options{0.4, window, {}, {}, scores};
      EXPECT_LT(worst(biased_attention(q, k, v, options), plain(q, k, v, options)), 1e-5);
    }
  }
}

TEST(BiasedAttention, WithoutAnyIsPlainAttention) {
  const at::Tensor q = random_tensor({4, 70, 16}, 1);
  const at::Tensor k = random_tensor({2, 70, 16}, 2);
  const at::Tensor v = random_tensor({2, 70, 16}, 3);
  const at::Tensor expected = causal_attention(q, k, v, 0.25, 9).to(at::kDouble);
  EXPECT_LT(worst(biased_attention(q, k, v, {0.25, 9}), expected), 1e-5);
}

TEST(BiasedAttention, SlopesOfAlibi) {
  const auto slopes = [](int64_t heads) {
    const at::Tensor found = alibi_slopes(heads);
    return std::vector<float>(found.const_data_ptr<float>(),
                              found.const_data_ptr<float>() + found.numel());
  };
  EXPECT_EQ(slopes(8), (std::vector<float>{0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F,
                                           0.0078125F, 0.00390625F}));
  EXPECT_EQ(slopes(4), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F}));
  EXPECT_EQ(slopes(6), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F}));
  EXPECT_EQ(slopes(1), (std::vector<float>{0.00390625F}));
}

TEST(BiasedAttention, WorkspaceIsNoSquare) {
  const int64_t short_text = biased_attention_workspace(32, 4096, 128);
  EXPECT_LT(biased_attention_workspace(32, 65536, 128), 20 * short_text);
}

}  // namespace
}  // namespace ropewalk
