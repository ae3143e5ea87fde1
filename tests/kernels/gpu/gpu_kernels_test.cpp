// Compares kernels on a GPU with those on the CPU.
#include <optional>

#include "ropewalk/kernels/attention/attention.h"
#include "ropewalk/kernels/products/elementwise.h"
#include "tests/kernels/gpu/gpu_test.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

class GpuKernels : public GpuTest {};

TEST_F(GpuKernels, PassesAgreeWithTheCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : {64, 128, 576, 2048, 37}) {
      const at::Tensor x = random_tensor({130, 2 * width}, 1).to(dtype);
      const at::Tensor weight = random_tensor({width}, 2).to(dtype);
      const at::Tensor half = x.slice(1, 0, width);  // rows that are not adjacent
      for (const bool plus_one : {false, true}) {
        EXPECT_LT(relative_error(rms_norm(half.cuda(), weight.cuda(), 1e-5, plus_one),
                                 rms_norm(half, weight, 1e-5, plus_one)),
                  rounding(dtype))
            << width;
      }
      for (const Activation activation : {Activation::silu, Activation::gelu_tanh, Activation::gelu,
                                          Activation::relu, Activation::relu_squared}) {
        EXPECT_LT(relative_error(gate_(x.cuda(), activation), gate_(x.clone(), activation)),
                  rounding(dtype));
      }
    }
    const at::Tensor heads = random_tensor({5, 33, 128}, 3).to(dtype);
    EXPECT_LT(relative_error(rms_norm(heads.cuda().transpose(0, 1), at::ones({128}, dtype).cuda(),
                                      1e-5, false),
                             rms_norm(heads.transpose(0, 1), at::ones({128}, dtype), 1e-5, false)),
              rounding(dtype));
  }
}

TEST_F(GpuKernels, RotationAgreesWithTheCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool interleaved : {false, true}) {
      for (const int64_t pairs : {64, 32, 9}) {
        const at::Tensor all = random_tensor({70, 5 * 128}, 4).to(dtype);  // [T, heads * d]
        const at::Tensor there = all.cuda();
        const at::Tensor before = all.clone();
        const at::Tensor angles = random_tensor({70, pairs}, 5) * 3;
        const auto heads = [](const at::Tensor& x, int64_t from, int64_t to) {
          return x.slice(1, from * 128, to * 128).view({70, to - from, 128}).transpose(0, 1);
        };
        rotate_(heads(all, 0, 3), heads(all, 3, 4), angles.cos(), angles.sin(), interleaved);
        at::Tensor q = heads(there, 0, 3);
        at::Tensor k = heads(there, 3, 4);
        rotate(q, k, angles.cos().cuda(), angles.sin().cuda(), interleaved);
        EXPECT_LT(relative_error(q, heads(all, 0, 3)), rounding(dtype)) << pairs;
        EXPECT_LT(relative_error(k, heads(all, 3, 4)), rounding(dtype)) << pairs;
        EXPECT_TRUE(there.cpu().equal(before)) << "the old ones stay";
        rotate_(heads(there, 0, 3), heads(there, 3, 4), angles.cos().cuda(), angles.sin().cuda(),
                interleaved);
        EXPECT_LT(relative_error(there, all), rounding(dtype)) << pairs;
      }
    }
  }
}

TEST_F(GpuKernels, AttentionAgreesWithTheCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t tokens : {1, 100, 256, 700}) {
      for (const std::optional<int64_t> window :
           {std::optional<int64_t>(), std::optional<int64_t>(64)}) {
        const at::Tensor q = random_tensor({8, tokens, 64}, 6).to(dtype);
        const at::Tensor k = random_tensor({2, tokens, 64}, 7).to(dtype);
        const at::Tensor v = random_tensor({2, tokens, 64}, 8).to(dtype);
        const at::Tensor expected =
            causal_attention(q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat), 0.125, window);
        EXPECT_LT(
            relative_error(causal_attention(q.cuda(), k.cuda(), v.cuda(), 0.125, window), expected),
            dtype == at::kFloat ? 1e-5 : 1e-2)
            << tokens;
      }
    }
  }
}

// Lengths and windows that are not multiples of any tile, with shared keys.
TEST_F(GpuKernels, SlidingAttentionOfAnyLength) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t tokens : {33, 65, 120, 1500}) {
      for (const int64_t window : {16, 17, 50}) {
        const at::Tensor q = random_tensor({4, tokens, 32}, 1).to(dtype);
        const at::Tensor k = random_tensor({2, tokens, 32}, 2).to(dtype);
        const at::Tensor v = random_tensor({2, tokens, 32}, 3).to(dtype);
        const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
        const at::Tensor expected = causal_attention(wide(q), wide(k), wide(v), 0.2, window);
        const at::Tensor found = causal_attention(q.cuda(), k.cuda(), v.cuda(), 0.2, window);
        EXPECT_LT(relative_error(found, expected), 2 * rounding(dtype)) << tokens << " " << window;
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
