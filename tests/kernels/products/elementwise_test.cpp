#include "ropewalk/kernels/products/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const at::Tensor x = random_tensor({5, 7}, 1) * 3;
  const at::Tensor weight = random_tensor({7}, 2);
  const at::Tensor plain = rms_norm(x, weight, 1e-5, false);
  const at::Tensor plus_one = rms_norm(x, weight, 1e-5, true);
  for (int64_t row = 0; row < 5; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < 7; ++i) squares += element(x, row, i) * element(x, row, i);
    const double scale = 1 / std::sqrt(squares / 7 + 1e-5);
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(element(plain, row, i), element(x, row, i) * scale * element(weight, i), 1e-6);
      EXPECT_NEAR(element(plus_one, row, i), element(x, row, i) * scale * (1 + element(weight, i)),
                  1e-6);
    }
  }
}

TEST(RmsNorm, EpsilonCountsForSmallVectors) {
  const at::Tensor x = at::full({1, 4}, 1e-4);
  EXPECT_NEAR(element(rms_norm(x, at::ones({4}), 1e-8, false), 0, 0), 1e-4 / std::sqrt(2e-8), 1e-6);
  EXPECT_EQ(element(rms_norm(at::zeros({1, 4}), at::ones({4}), 1e-8, false), 0, 0), 0);
}

TEST(RmsNorm, RoundsBfloat16Once) {
  const at::Tensor x = (random_tensor({3, 64}, 3) * 100).to(at::kBFloat16);
  const at::Tensor weight = random_tensor({64}, 4).to(at::kBFloat16);
  const at::Tensor wide = rms_norm(x.to(at::kFloat), weight.to(at::kFloat), 1e-6, false);
  const at::Tensor narrow = rms_norm(x, weight, 1e-6, false);
  EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(narrow, wide.to(at::kBFloat16)));
}

TEST(LayerNorm, MeanAndVariance) {
  const at::Tensor x = random_tensor({4, 9}, 5) + 2;
  const at::Tensor weight = random_tensor({9}, 6);
  const at::Tensor bias = random_tensor({9}, 7);
  const at::Tensor result = layer_norm(x, weight, bias, 1e-5);
  for (int64_t row = 0; row < 4; ++row) {
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < 9; ++i) mean += element(x, row, i) / 9;
    for (int64_t i = 0; i < 9; ++i) variance += std::pow(element(x, row, i) - mean, 2) / 9;
    for (int64_t i = 0; i < 9; ++i) {
      EXPECT_NEAR(element(result, row, i),
                  (element(x, row, i) - mean) / std::sqrt(variance + 1e-5) * element(weight, i) +
                      element(bias, i),
                  1e-5);
    }
  }
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& angles, bool interleaved) {
  const at::Tensor q = x.clone();
  const at::Tensor k = x.slice(0, 0, 1).clone();
  rotate_(q, k, angles.cos(), angles.sin(), interleaved);
  EXPECT_TRUE(at::equal(k, q.slice(0, 0, 1)));
  return q;
}

// Heads of `width`, of which the first 2 * pairs dimensions turn, against the rotation written out.
void check_rotation(int64_t width, int64_t pairs, bool interleaved) {
  const int64_t tokens = 6;
  const at::Tensor x = random_tensor({2, tokens, width}, 8);
  const at::Tensor angles = random_tensor({tokens, pairs}, 9) * 3;
  const at::Tensor result = rotated(x, angles, interleaved);
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t first = interleaved ? 2 * i : i;
        const int64_t second = interleaved ? 2 * i + 1 : i + pairs;
        const double a = element(x, head, t, first);
        const double b = element(x, head, t, second);
        const double angle = element(angles, t, i);
        EXPECT_NEAR(element(result, head, t, first), a * std::cos(angle) - b * std::sin(angle),
                    1e-6);
        EXPECT_NEAR(element(result, head, t, second), b * std::cos(angle) + a * std::sin(angle),
                    1e-6);
      }
      for (int64_t i = 2 * pairs; i < width; ++i) {
        EXPECT_EQ(element(result, head, t, i), element(x, head, t, i)) << "beyond the rotated part";
      }
    }
  }
}

TEST(Rotate, Halves) { check_rotation(8, 4, false); }
TEST(Rotate, InterleavedPairs) { check_rotation(8, 4, true); }
TEST(Rotate, PartOfTheHead) {
  check_rotation(10, 3, false);
  check_rotation(10, 3, true);
}

TEST(Rotate, HeadsInsideALargerTensor) {
  const at::Tensor all = random_tensor({5, 3 * 8}, 10);  // [T, heads * d]
  const at::Tensor copy = all.clone();
  const auto heads = [](const at::Tensor& x, int64_t from, int64_t to) {
    return x.slice(1, from * 8, to * 8).view({5, to - from, 8}).transpose(0, 1);
  };
  const at::Tensor angles = random_tensor({5, 4}, 11);
  rotate_(heads(all, 0, 1), heads(all, 1, 2), angles.cos(), angles.sin(), false);
  EXPECT_TRUE(at::equal(heads(all, 0, 2), rotated(heads(copy, 0, 2), angles, false)));
  EXPECT_TRUE(at::equal(heads(all, 2, 3), heads(copy, 2, 3)));
}

TEST(Rotate, AnglesStayFloat32WhateverTheDtype) {
  const at::Tensor x = random_tensor({1, 3, 4}, 11).to(at::kBFloat16);
  const at::Tensor angles = random_tensor({3, 2}, 12);
  const at::Tensor narrow = rotated(x, angles, false);
  const at::Tensor wide = rotated(x.to(at::kFloat), angles, false);
  EXPECT_TRUE(at::equal(narrow, wide.to(at::kBFloat16)));
}

TEST(Activate, KnownValues) {
  const double x = -0.7;
  const auto value = [&](Activation activation) {
    return element(activate(at::full({1}, x, at::kFloat), activation), 0);
  };
  const double tanh_inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  EXPECT_NEAR(value(Activation::silu), x / (1 + std::exp(-x)), 1e-6);
  EXPECT_NEAR(value(Activation::gelu), x * 0.5 * (1 + std::erf(x / std::sqrt(2))), 1e-6);
  EXPECT_NEAR(value(Activation::gelu_tanh), 0.5 * x * (1 + std::tanh(tanh_inner)), 1e-6);
  EXPECT_EQ(value(Activation::relu), 0);
  EXPECT_NEAR(element(activate(at::full({1}, 3.0), Activation::relu_squared), 0), 9, 1e-6);
  EXPECT_THROW(value(Activation::xielu), UsageError);
}

TEST(Gate, MultipliesTheActivatedHalf) {
  const at::Tensor x = random_tensor({7, 2 * 37}, 13) * 6;
  for (const Activation activation : {Activation::silu, Activation::gelu, Activation::gelu_tanh,
                                      Activation::relu, Activation::relu_squared}) {
    const at::Tensor expected = activate(x.slice(1, 0, 37).clone(), activation) * x.slice(1, 37);
    const at::Tensor result = gate_(x.clone(), activation);
    EXPECT_LT((result - expected).abs().max().item<double>(), 2e-6 * 36);
    const at::Tensor narrow = gate_(x.to(at::kBFloat16), activation).to(at::kFloat);
    EXPECT_LT(((narrow - expected) / (expected.abs() + 0.05)).abs().max().item<double>(), 2e-2);
  }
}

TEST(Gate, ExtremeValues) {
  const auto silu = [](double x) {
    return element(gate_(at::tensor({x, 1.0}, at::kFloat).unsqueeze(0), Activation::silu), 0, 0);
  };
  EXPECT_EQ(silu(1000), 1000);
  EXPECT_NEAR(silu(-1000), 0, 1e-30);
  EXPECT_NEAR(silu(-80) / (-80 * std::exp(-80.0)), 1, 1e-5);
  EXPECT_TRUE(std::isnan(silu(NAN)));
}

double softplus(double x) { return std::log1p(std::exp(x)); }

TEST(Xielu, BothBranches) {
  const double raw_p = 0.3;
  const double raw_n = -0.4;
  const double beta = 0.25;
  const double eps = -1e-6;
  const XieluParameters parameters{at::full({1}, raw_p), at::full({1}, raw_n), at::full({}, beta),
                                   at::full({}, eps)};
  for (const double x : {-3.0, -0.5, -1e-7, 0.0, 1e-7, 0.5, 3.0}) {
    const double expected =
        x > 0 ? softplus(raw_p) * x * x + beta * x
              : (beta + softplus(raw_n)) * (std::expm1(std::min(x, eps)) - x) + beta * x;
    EXPECT_NEAR(element(xielu(at::full({1}, x), parameters), 0), expected, 1e-6) << x;
  }
}

TEST(Xielu, DefaultsOfTheParametersAModelMayLack) {
  const at::Tensor alpha = at::full({1}, 0.8);
  const at::Tensor x = random_tensor({20}, 13);
  EXPECT_TRUE(at::equal(xielu(x, {alpha, alpha, {}, {}}),
                        xielu(x, {alpha, alpha, at::full({}, 0.5), at::full({}, -1e-6)})));
}

TEST(CutGate, CutsGateAndUp) {
  const at::Tensor x = 5 * random_tensor({40, 14}, 7);
  const at::Tensor gate = x.slice(1, 0, 7).to(at::kDouble).clamp_max(2);
  const at::Tensor up = x.slice(1, 7).to(at::kDouble).clamp(-2, 2);
  const at::Tensor expected = (up + 1) * gate * at::sigmoid(1.5 * gate);
  const at::Tensor found = cut_gate_(x.clone(), 1.5, 2);
  EXPECT_EQ(found.sizes(), expected.sizes());
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace ropewalk
