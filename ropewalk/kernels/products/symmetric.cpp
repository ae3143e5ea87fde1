#include "ropewalk/kernels/products/symmetric.h"

#include <algorithm>

#include "ropewalk/kernels/clones.h"

namespace ropewalk {
namespace {

constexpr int64_t kTile = 8;

template <typename T>
ROPEWALK_INLINE void unpack(double* matrix, const T* packed, int64_t d) {
  for (int64_t i = 0; i < d; ++i) {
    double* const row = matrix + i * d;
#pragma omp simd
    for (int64_t j = i; j < d; ++j) row[j] = static_cast<double>(packed[j - i]);
    packed += d - i;
  }
  // The other half is written in tiles: by columns alone, the cache would lose them between two of
  // their numbers.
  for (int64_t i = 0; i < d; i += kTile) {
    const int64_t rows = std::min(i + kTile, d);
    for (int64_t j = 0; j < rows; j += kTile) {
      const int64_t columns = std::min(j + kTile, d);
      for (int64_t r = i; r < rows; ++r) {
        for (int64_t c = j; c < std::min(columns, r); ++c) matrix[r * d + c] = matrix[c * d + r];
      }
    }
  }
}

}  // namespace

ROPEWALK_CLONES void unpack_symmetric(double* matrix, const float* packed, int64_t d) {
  unpack(matrix, packed, d);
}

ROPEWALK_CLONES void unpack_symmetric(double* matrix, const double* packed, int64_t d) {
  unpack(matrix, packed, d);
}

ROPEWALK_CLONES void subtract_part(double* left, const double* whole, const double* part,
                                   const double* offset, double weight, int64_t d) {
  for (int64_t i = 0; i < d; ++i) {
    const double own = offset[i];
#pragma omp simd
    for (int64_t j = 0; j < d; ++j) {
      left[i * d + j] = whole[i * d + j] - part[i * d + j] - own * offset[j] * weight;
    }
  }
}

ROPEWALK_CLONES void pool_matrices(double* pooled, const double* a, const double* b,
                                   const double* offset, double weight, double over, int64_t d) {
  for (int64_t i = 0; i < d; ++i) {
    const double own = offset[i];
#pragma omp simd
    for (int64_t j = 0; j < d; ++j) {
      pooled[i * d + j] = (a[i * d + j] + b[i * d + j] + own * offset[j] * weight) / over;
    }
  }
}

}  // namespace ropewalk
