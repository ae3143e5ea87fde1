// Measures queries and keys that this program makes up: four query heads that read two key heads,
// of which the first carries position along one direction and the second does not.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/moments/tensors/tensor_capture.h"

namespace {

constexpr int64_t kDocuments = 32;
constexpr int64_t kTokens = 128;
constexpr int64_t kDim = 8;

// Numbers that look random and are the same everywhere, numpy included.
at::Tensor noise(int64_t heads, int64_t document, double seed) {
  const at::Tensor i =
      at::arange(heads * kTokens * kDim, at::kDouble) + 10007.0 * static_cast<double>(document);
  const at::Tensor x = at::sin(i * 12.9898 + seed) * 43758.5453;
  const at::Tensor scale = at::pow(0.7, at::arange(kDim, at::kDouble));
  return (x - x.floor() - 0.5).reshape({heads, kTokens, kDim}) * scale;
}

// Position along the first dimension, in the heads of the first half.
at::Tensor with_position(at::Tensor vectors, double strength) {
  const at::Tensor t = at::linspace(-0.5, 0.5, kTokens, at::kDouble);
  vectors.narrow(0, 0, vectors.size(0) / 2).select(2, 0).add_(t * strength);
  return vectors;
}

}  // namespace

int main() {
  ropewalk::TensorCapture capture({.q_heads = 4, .kv_heads = 2, .head_dim = kDim});
  for (int64_t document = 0; document < kDocuments; ++document) {
    const at::Tensor q = with_position(noise(4, document, 1), 2);
    const at::Tensor k = with_position(noise(2, document, 2), -1);
    capture.add(/*layer=*/0, document, q, k);
  }
  const ropewalk::CheckpointTable heads = ropewalk::analyze_capture(capture.layer(0), 1, "example");
  std::printf("head  r_q               r_k               explained variance\n");
  for (const size_t row : heads.head_rows()) {
    std::printf("%4d", static_cast<int>(heads.q_head[row]));
    for (const char* name : {"r_q", "r_k", "explained_variance"}) {
      const ropewalk::HeadColumn& column = heads.column(name);
      std::printf("  %.6f ± %.6f", column.value[row], column.se[row]);
    }
    std::printf("\n");
  }
}
