#include "ropewalk/model/config/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 16;
constexpr double kTheta = 10000;

RopeSettings settings(RopeType type) {
  RopeSettings rope;
  rope.type = type;
  rope.theta = kTheta;
  rope.rotary_dim = kDim;
  rope.max_positions = 64;
  return rope;
}

double plain(double i) { return std::pow(kTheta, -2 * i / kDim); }

// Compares a table of `tokens` positions with cos and sin of t * frequency(i), times `factor`.
void expect_table(const RopeSettings& rope, int64_t tokens,
                  const std::function<double(int64_t)>& frequency, double factor = 1) {
  const RopeTable table = make_rope_table(rope, tokens, at::kCPU);
  ASSERT_EQ(table.cos.sizes(), (std::vector<int64_t>{tokens, kDim / 2}));
  ASSERT_EQ(table.sin.scalar_type(), at::kFloat);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t i = 0; i < kDim / 2; ++i) {
      const double angle = static_cast<double>(t) * frequency(i);
      // float32 angles: 24 bits of at most t radians.
      const double tolerance = 1e-6 + 3e-7 * static_cast<double>(t);
      EXPECT_NEAR(element(table.cos, t, i), factor * std::cos(angle), tolerance) << t << ' ' << i;
      EXPECT_NEAR(element(table.sin, t, i), factor * std::sin(angle), tolerance) << t << ' ' << i;
    }
  }
}

TEST(RopeTable, Default) {
  expect_table(settings(RopeType::standard), 100,
               [](int64_t i) { return plain(static_cast<double>(i)); });
}

TEST(RopeTable, Linear) {
  RopeSettings rope = settings(RopeType::linear);
  rope.factor = 4;
  expect_table(rope, 100, [](int64_t i) { return plain(static_cast<double>(i)) / 4; });
}

// theta grows with the length once it passes max_position_embeddings.
TEST(RopeTable, Dynamic) {
  RopeSettings rope = settings(RopeType::dynamic);
  rope.factor = 2;
  expect_table(rope, 64, [](int64_t i) { return plain(static_cast<double>(i)); });
  const double theta = kTheta * std::pow(2 * 96.0 / 64 - 1, kDim / (kDim - 2.0));
  expect_table(rope, 96,
               [&](int64_t i) { return std::pow(theta, -2 * static_cast<double>(i) / kDim); });
}

// Long waves are divided by the factor, short ones kept, those between blended.
TEST(RopeTable, Llama3) {
  RopeSettings rope = settings(RopeType::llama3);
  rope.factor = 8;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_context = 128;
  int kept = 0;
  int divided = 0;
  expect_table(rope, 100, [&](int64_t i) {
    const double frequency = plain(static_cast<double>(i));
    const double waves = 128 * frequency / (2 * M_PI);  // turns within the original context
    if (waves > 4) return ++kept, frequency;
    if (waves < 1) return ++divided, frequency / 8;
    const double smooth = (waves - 1) / (4 - 1);
    return (1 - smooth) * frequency / 8 + smooth * frequency;
  });
  EXPECT_GT(kept, 0);
  EXPECT_GT(divided, 0);
  EXPECT_LT((kept + divided) / 100, kDim / 2) << "some must be blended";
}

// The ramp of YaRN between the dimensions that turn beta_fast and beta_slow times.
double yarn(int64_t i, double factor, double low, double high) {
  const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  return plain(static_cast<double>(i)) * (ramp / factor + 1 - ramp);
}

double yarn_dimension(double turns, double context) {
  return kDim * std::log(context / (turns * 2 * M_PI)) / (2 * std::log(kTheta));
}

TEST(RopeTable, Yarn) {
  RopeSettings rope = settings(RopeType::yarn);
  rope.factor = 4;
  rope.original_context = 1024;
  const double low = std::floor(yarn_dimension(32, 1024));
  const double high = std::ceil(yarn_dimension(1, 1024));
  ASSERT_LT(low, high);
  expect_table(
      rope, 100, [&](int64_t i) { return yarn(i, 4, low, high); }, 0.1 * std::log(4.0) + 1);
}

TEST(RopeTable, YarnWithoutTruncation) {
  RopeSettings rope = settings(RopeType::yarn);
  rope.factor = 4;
  rope.original_context = 1024;
  rope.beta_fast = 8;
  rope.beta_slow = 2;
  rope.truncate = false;
  rope.attention_factor = 1.25;
  expect_table(
      rope, 100,
      [&](int64_t i) { return yarn(i, 4, yarn_dimension(8, 1024), yarn_dimension(2, 1024)); },
      1.25);
}

TEST(RopeTable, YarnMagnitudes) {
  RopeSettings rope = settings(RopeType::yarn);
  rope.factor = 40;
  rope.original_context = 4096;
  rope.mscale = 1.0;
  rope.mscale_all_dim = 0.5;
  const double expected = (0.1 * 1.0 * std::log(40.0) + 1) / (0.1 * 0.5 * std::log(40.0) + 1);
  EXPECT_NEAR(element(make_rope_table(rope, 1, at::kCPU).cos, 0, 0), expected, 1e-6);
  rope.mscale_all_dim.reset();
  EXPECT_NEAR(element(make_rope_table(rope, 1, at::kCPU).cos, 0, 0), 0.1 * std::log(40.0) + 1,
              1e-6);
  rope.factor = 1;
  EXPECT_EQ(element(make_rope_table(rope, 1, at::kCPU).cos, 0, 0), 1);
}

TEST(RopeTable, AnglesAreFloat32AtLongContexts) {
  const int64_t tokens = 65'537;
  const RopeTable table = make_rope_table(settings(RopeType::standard), tokens, at::kCPU);
  EXPECT_NEAR(element(table.cos, tokens - 1, 0), std::cos(65536.0), 1e-6) << "frequency 1 is exact";
}

}  // namespace
}  // namespace ropewalk
