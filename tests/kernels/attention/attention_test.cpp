#include "ropewalk/kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ropewalk/kernels/attention/attention_cpu.h"
#include "ropewalk/kernels/processor.h"
#include "tests/kernels/attention/attention_inputs.h"

namespace ropewalk {
namespace {

using Attend = std::function<at::Tensor(const AttendedTensors& inputs, const AttentionCase& shape)>;

at::Tensor attend(const AttendedTensors& inputs, const AttentionCase& shape) {
  return causal_attention(inputs.q, inputs.k, inputs.v, shape.scale, shape.window);
}

// The reference in float64, through torch's operations.
at::Tensor attend_by_torch(const AttendedTensors& inputs, const AttentionCase& shape) {
  const AttendedTensors wide{inputs.q.to(at::kDouble), inputs.k.to(at::kDouble),
                             inputs.v.to(at::kDouble)};
  return attend(wide, shape);
}

double error_of(const AttentionCase& shape, const Attend& attention = attend) {
  const AttendedTensors inputs = inputs_of(shape);
  const at::Tensor heads = attention(inputs, shape);
  EXPECT_EQ(heads.sizes(), (std::vector<int64_t>{shape.tokens, shape.kv_heads,
                                                 shape.heads / shape.kv_heads, shape.d_head}));
  const at::Tensor expected = naive_attention(inputs.q, inputs.k, inputs.v, shape.scale,
                                              shape.window.value_or(shape.tokens));
  return (heads.flatten(1).to(at::kDouble) - expected).abs().max().item<double>();
}

constexpr double kTolerance = 5e-6;

TEST(CausalAttention, SeesOnlyThePast) {
  for (const int64_t tokens : {1, 2, 33}) {
    EXPECT_LT(error_of({.tokens = tokens}), kTolerance) << tokens;
    EXPECT_LT(error_of({.tokens = tokens}, attend_by_torch), kTolerance) << tokens;
  }
}

TEST(CausalAttention, QueryHeadsShareKeyHeads) {
  for (const Attend& attention : {Attend(attend), Attend(attend_by_torch)}) {
    EXPECT_LT(error_of({.heads = 6, .tokens = 19}, attention), kTolerance);
    EXPECT_LT(error_of({.heads = 4, .kv_heads = 1, .tokens = 19}, attention), kTolerance);
    EXPECT_LT(error_of({.heads = 6, .kv_heads = 3, .tokens = 19, .window = 5}, attention),
              kTolerance);
  }
}

TEST(CausalAttention, Windows) {
  for (const int64_t window : {1, 2, 16, 32, 33, 34, 1000}) {
    EXPECT_LT(error_of({.tokens = 33, .window = window}), kTolerance) << window;
    EXPECT_LT(error_of({.tokens = 33, .window = window}, attend_by_torch), kTolerance) << window;
  }
}

// Torch's attention takes 1,024 queries of a sliding layer at a time; the borders must not show.
TEST(CausalAttention, WindowsAcrossBlocks) {
  for (const int64_t tokens : {1023, 1024, 1025, 2049}) {
    for (const int64_t window : {1, 7, 1022}) {
      const AttentionCase shape{.heads = 1, .kv_heads = 1, .tokens = tokens, .window = window};
      EXPECT_LT(error_of(shape), kTolerance) << shape;
      EXPECT_LT(error_of(shape, attend_by_torch), kTolerance) << shape;
    }
  }
  const AttentionCase wide{.heads = 1, .kv_heads = 1, .tokens = 2049, .window = 1500};
  EXPECT_LT(error_of(wide, attend_by_torch), kTolerance);
}

// Every kernel that this processor can run, not only the one it would choose.
class CpuAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (cpu::attention_kernels().empty()) GTEST_SKIP() << "this processor takes torch's attention";
  }
  static void for_each_kernel(const std::function<void(const Attend&)>& check) {
    for (const cpu::AttentionKernel* kernel : cpu::attention_kernels()) {
      SCOPED_TRACE(kernel->name);
      check([kernel](const AttendedTensors& inputs, const AttentionCase& shape) {
        return cpu_attention(*kernel, inputs.q, inputs.k, inputs.v, shape.scale, shape.window);
      });
    }
  }
};

// Scores are about one, so that many keys contribute; values are at most 5.
AttentionCase plain(int64_t groups, int64_t tokens, int64_t d_head, std::optional<int64_t> window) {
  return {.heads = 2 * groups,
          .kv_heads = 2,
          .tokens = tokens,
          .window = window,
          .d_head = d_head,
          .scale = 1.3 / std::sqrt(static_cast<double>(d_head)),
          .size = 1};
}
constexpr double kPlainTolerance = 3e-6;

TEST_F(CpuAttention, AnyLengthWidthAndGroups) {
  for_each_kernel([](const Attend& attention) {
    for (const int64_t tokens : {1, 2, 15, 63, 64, 65, 200}) {
      for (const int64_t d_head : {1, 7, 16, 32, 48, 64, 80, 96, 100, 128, 256}) {
        for (const int64_t groups : {1, 3, 4}) {
          const AttentionCase shape = plain(groups, tokens, d_head, {});
          EXPECT_LT(error_of(shape, attention), kPlainTolerance) << shape;
        }
      }
    }
  });
}

TEST_F(CpuAttention, AnyWindow) {
  for_each_kernel([](const Attend& attention) {
    for (const int64_t tokens : {1, 65, 200, 513, 1000}) {
      for (const int64_t window : {1, 2, 7, 64, 65, 300, 512, 999, 1000, 5000}) {
        const AttentionCase shape = plain(3, tokens, 16, window);
        EXPECT_LT(error_of(shape, attention), kPlainTolerance) << shape;
      }
    }
    for (const int64_t tokens : {513, 1000, 1537}) {
      const AttentionCase shape = plain(3, tokens, 64, {});
      EXPECT_LT(error_of(shape, attention), kPlainTolerance) << shape;
    }
  });
}

// Scores beyond +-80 leave most weights zero; their own rounding is 80 * 2^-24 times a few.
TEST_F(CpuAttention, LargeScores) {
  for_each_kernel([](const Attend& attention) {
    for (const std::optional<int64_t> window : {std::optional<int64_t>(), std::optional(70L)}) {
      const AttentionCase shape{.heads = 6,
                                .tokens = 700,
                                .window = window,
                                .d_head = 64,
                                .scale = 0.125,
                                .size = std::sqrt(25.0)};
      EXPECT_LT(error_of(shape, attention), 1e-4) << shape;
    }
  });
}

// A score far above all others comes last, first, and in between.
TEST_F(CpuAttention, SumsShrinkWhenALargerScoreTurnsUp) {
  for_each_kernel([](const Attend& attention) {
    const AttentionCase shape = plain(3, 1300, 32, {});
    for (const int64_t peak : {0, 511, 512, 700, 1299}) {
      const AttendedTensors inputs = inputs_of(shape);
      inputs.k.select(1, peak).mul_(30);
      const at::Tensor expected =
          naive_attention(inputs.q, inputs.k, inputs.v, shape.scale, shape.tokens);
      const at::Tensor found = attention(inputs, shape).flatten(1).to(at::kDouble);
      EXPECT_LT((found - expected).abs().max().item<double>(), 3e-5) << peak;
    }
  });
}

TEST_F(CpuAttention, SameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for_each_kernel([](const Attend& attention) {
    for (const int64_t tokens : {1, 130, 700}) {
      const AttentionCase shape = plain(3, tokens, 64, {});
      const AttendedTensors inputs = inputs_of(shape);
      at::set_num_threads(1);
      const at::Tensor alone = attention(inputs, shape);
      for (const int many : {2, 3}) {
        at::set_num_threads(many);
        EXPECT_TRUE(at::equal(attention(inputs, shape), alone)) << shape << ", " << many;
      }
    }
  });
  at::set_num_threads(threads);
}

TEST_F(CpuAttention, AnyStrides) {
  for_each_kernel([](const Attend& attention) {
    const AttentionCase shape = plain(3, 150, 48, 40);
    const AttendedTensors inputs = inputs_of(shape);
    const at::Tensor expected = attention(inputs, shape);
    // a layout in which the numbers of a vector are far apart
    const auto across = [](const at::Tensor& x) {
      return x.permute({2, 0, 1}).contiguous().permute({1, 2, 0});
    };
    const AttendedTensors dense{inputs.q.contiguous(), inputs.k.contiguous(),
                                inputs.v.contiguous()};
    const AttendedTensors turned{across(inputs.q), across(inputs.k), across(inputs.v)};
    EXPECT_TRUE(at::equal(attention(dense, shape), expected));
    EXPECT_TRUE(at::equal(attention(turned, shape), expected));
  });
}

// A value that is not finite shows in the rows that see it, as with softmax, but in no row before.
TEST_F(CpuAttention, NotFinite) {
  for_each_kernel([](const Attend& attention) {
    const AttentionCase shape = plain(1, 300, 32, 100);
    const at::Tensor expected = attention(inputs_of(shape), shape);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
      const AttendedTensors inputs = inputs_of(shape);
      inputs.k.select(1, 150).fill_(bad);
      inputs.q.fill_(0.5);
      EXPECT_TRUE(attention(inputs, shape).slice(0, 150, 250).isnan().all().item<bool>()) << bad;
      EXPECT_TRUE(attention(inputs, shape).slice(0, 0, 150).isfinite().all().item<bool>()) << bad;
      EXPECT_TRUE(attention(inputs, shape).slice(0, 250).isfinite().all().item<bool>()) << bad;
    }
    const AttendedTensors inputs = inputs_of(shape);
    inputs.q.select(1, 150).fill_(nan);
    const at::Tensor found = attention(inputs, shape);
    EXPECT_TRUE(found.select(0, 150).isnan().all().item<bool>());
    found.select(0, 150).copy_(expected.select(0, 150));
    EXPECT_TRUE(at::equal(found, expected)) << "a query is its own row's alone";
    const AttendedTensors low = inputs_of(shape);
    low.q.fill_(1);
    low.k.fill_(-std::numeric_limits<double>::infinity());
    EXPECT_TRUE(attention(low, shape).isnan().all().item<bool>()) << "no score is a number";
  });
}

// Where torch also computes in float32, ours does too, and rounds once.
TEST_F(CpuAttention, Bfloat16WithoutTiles) {
  if (cpu::has_bfloat16_tiles()) GTEST_SKIP() << "torch's attention multiplies bfloat16 itself";
  for (const std::optional<int64_t> window :
       {std::optional<int64_t>(), std::optional<int64_t>(40)}) {
    const AttentionCase shape{
        .heads = 6, .kv_heads = 2, .tokens = 150, .window = window, .d_head = 20};
    const AttendedTensors exact = inputs_of(shape);
    const auto rounded = [](const at::Tensor& x) { return x.to(at::kBFloat16); };
    const AttendedTensors inputs{rounded(exact.q), rounded(exact.k), rounded(exact.v)};
    const auto single = [](const at::Tensor& x) { return x.to(at::kFloat); };
    const AttendedTensors same{single(inputs.q), single(inputs.k), single(inputs.v)};
    const at::Tensor out = attend(inputs, shape);
    EXPECT_EQ(out.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(out.equal(rounded(attend(same, shape))));
    EXPECT_GT(causal_attention_workspace({6, 2, 150, 20, window}, at::kBFloat16, at::kCPU),
              causal_attention_workspace({6, 2, 150, 20, window}, at::kFloat, at::kCPU));
  }
}

TEST(CausalAttention, WorkspaceGrowsWithTheWindowNotItsSquare) {
  for (const at::DeviceType device : {at::kCPU, at::kCUDA}) {
    for (const at::ScalarType dtype : {at::kBFloat16, at::kFloat}) {
      const auto bytes = [&](int64_t tokens, std::optional<int64_t> window) {
        return causal_attention_workspace({4, 2, tokens, 64, window}, dtype, device);
      };
      EXPECT_EQ(bytes(4096, 4096), bytes(4096, {})) << "a window as long as the text hides nothing";
      EXPECT_LT(bytes(65536, 512) - bytes(65536, {}), int64_t{1} << 29) << "never [T, T]";
    }
  }
}

// The workspace for packed keys and values grows with the text; queries need none.
TEST_F(CpuAttention, WorkspaceIsKeysAndValues) {
  const auto bytes = [&](int64_t heads, int64_t tokens) {
    return causal_attention_workspace({heads, 2, tokens, 60, {}}, at::kFloat, at::kCPU);
  };
  EXPECT_EQ(bytes(4, 8192) - bytes(4, 4096), 2 * 2 * 4096 * 64 * 4);
  EXPECT_EQ(bytes(4, 4096), bytes(16, 4096));
}

}  // namespace
}  // namespace ropewalk
