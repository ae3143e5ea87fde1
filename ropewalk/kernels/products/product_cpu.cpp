#include "ropewalk/kernels/products/product_cpu.h"

#include <algorithm>
#include <vector>

#include "ropewalk/kernels/clones.h"
#include "ropewalk/kernels/usable_kernels.h"

namespace ropewalk::cpu {

ROPEWALK_CLONES void pack_matrix(float* data, int64_t columns, int64_t depth) {
  std::vector<float> rows(static_cast<size_t>(std::min(columns, kPanel) * depth));
  for (int64_t first = 0; first < columns; first += kPanel) {
    const int64_t width = std::min(kPanel, columns - first);
    float* panel = data + first * depth;
    std::copy_n(panel, width * depth, rows.data());
    for (int64_t k = 0; k < depth; ++k) {
      const float* number = rows.data() + k;
      for (int64_t j = 0; j < width; ++j) panel[k * width + j] = number[j * depth];
    }
  }
}

const float* panel_of(const PackedMatrix& matrix, int64_t panel, float* room) {
  const float* packed = matrix.data + panel * kPanel * matrix.depth;
  const int64_t width = matrix.width(panel);
  if (width == kPanel) return packed;
  for (int64_t k = 0; k < matrix.depth; ++k) {
    float* end = std::copy_n(packed + k * width, width, room + k * kPanel);
    std::fill(end, room + (k + 1) * kPanel, 0.0F);
  }
  return room;
}

ROPEWALK_CLONES void store_sums(const FloatRows& sums, int64_t columns, const SumsTarget& target) {
  for (int64_t i = 0; i < sums.count; ++i) {
    const float* sum = sums.data + i * sums.stride;
    float* out = target.out + i * target.stride;
    const auto each = [&](auto store) {
#pragma GCC ivdep
      for (int64_t j = 0; j < columns; ++j) {
        store(out[j], target.bias != nullptr ? sum[j] + target.bias[j] : sum[j]);
      }
    };
    if (target.add) {
      each([&](float& to, float value) { to += target.scale * value; });
    } else {
      each([](float& to, float value) { to = value; });
    }
  }
}

#ifdef __x86_64__
extern const ProductKernel kProductAvx512;
extern const ProductKernel kProductAvx2;

std::span<const ProductKernel* const> product_kernels() {
  static const auto usable = usable_kernels(kProductAvx512, kProductAvx2);
  return usable;
}
#else
std::span<const ProductKernel* const> product_kernels() { return {}; }
#endif

}  // namespace ropewalk::cpu
