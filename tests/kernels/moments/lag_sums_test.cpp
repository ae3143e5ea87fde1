// Sums of logits over windows of distances: a GPU's against float64 over all pairs, as the CPU's.
#include "ropewalk/kernels/moments/lags.h"
#include "tests/kernels/gpu/gpu_test.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

class LagSumsOnGpu : public GpuTest {};

struct Shape {
  int64_t q_heads = 4;
  int64_t kv_heads = 2;
  int64_t tokens = 100;
  int64_t d = 64;
};

// The largest error of a window's sum, relative to the root of the sum of squared logits of all
// pairs; the counts of pairs must be exact.
double worst_error(const Shape& shape, at::ScalarType dtype, const at::Device& device) {
  const at::Tensor q = random_tensor({shape.q_heads, shape.tokens, shape.d}, 1).to(dtype);
  const at::Tensor mean = random_tensor({shape.kv_heads, 1, shape.d}, 2) * 3;
  const at::Tensor k = (random_tensor({shape.kv_heads, shape.tokens, shape.d}, 3) + mean).to(dtype);
  const auto windows = distance_windows(shape.tokens + 4, {}, 4);
  const auto count = static_cast<int64_t>(windows.size());
  const at::TensorOptions options = at::TensorOptions(at::kDouble).device(device);
  const LagSums sums{at::zeros({shape.q_heads, count}, options),
                     at::zeros({shape.q_heads, count}, options)};
  const at::TensorOptions indexes = at::TensorOptions(at::kInt).device(device);
  const LagHeads heads{at::arange(shape.q_heads, indexes), at::arange(shape.kv_heads, indexes)};
  add_lag_sums(q.to(device), k.to(device), heads, windows, sums);
  const at::Tensor found = sums.sum.cpu(), pairs = sums.count.cpu();
  double worst = 0;
  for (int64_t head = 0; head < shape.q_heads; ++head) {
    const at::Tensor logits = at::mm(
        q[head].to(at::kDouble), k[head / (shape.q_heads / shape.kv_heads)].to(at::kDouble).t());
    const at::Tensor t = at::arange(shape.tokens);
    const at::Tensor apart = t.unsqueeze(1) - t.unsqueeze(0);
    for (int64_t i = 0; i < count; ++i) {
      const DistanceWindow& window = windows[static_cast<size_t>(i)];
      const at::Tensor inside = (apart >= window.begin).logical_and(apart < window.end);
      EXPECT_EQ(element(pairs, head, i), inside.sum().item<double>());
      const double all = at::where(inside, logits, 0.0).sum().item<double>();
      worst = std::max(worst, std::abs(element(found, head, i) - all) /
                                  logits.square().sum().sqrt().item<double>());
    }
  }
  return worst;
}

const std::vector<Shape> kShapes{
    {.tokens = 1},
    {.tokens = 3, .d = 20},
    {.tokens = 64},
    {.tokens = 65, .d = 80},
    {.q_heads = 1, .kv_heads = 1, .tokens = 200, .d = 128},
    {.q_heads = 9, .kv_heads = 3, .tokens = 130},
    {.q_heads = 10, .kv_heads = 2, .tokens = 700, .d = 96},
    {.q_heads = 8, .kv_heads = 1, .tokens = 1000, .d = 256},
    {.q_heads = 2, .kv_heads = 1, .tokens = 300, .d = 37},
    {.tokens = 2000, .d = 128},
};

// Sums of float32 products in another order differ by a few units in the last place.
void expect_exact(const at::Device& device, double most) {
  for (const Shape& shape : kShapes) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      EXPECT_LT(worst_error(shape, dtype, device), most)
          << shape.q_heads << " over " << shape.kv_heads << ", " << shape.tokens << " x " << shape.d
          << " " << dtype;
    }
  }
}

TEST(LagSums, AreThoseOfAllPairs) { expect_exact(at::kCPU, 2e-6); }

TEST_F(LagSumsOnGpu, AreThoseOfAllPairs) { expect_exact(at::kCUDA, 5e-6); }

}  // namespace
}  // namespace ropewalk
