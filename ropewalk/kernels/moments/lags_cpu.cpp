#include "ropewalk/kernels/moments/lags_cpu.h"

#include "ropewalk/kernels/clones.h"

namespace ropewalk {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kSums = 4;  // at once: none of them waits for the other

constexpr int64_t kDoubles = 8;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Doubles = double __attribute__((vector_size(kDoubles * sizeof(double))));

ROPEWALK_INLINE void load(Lanes& value, const float* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}

// Of `strips` times kLanes columns.
template <int64_t strips>
ROPEWALK_INLINE void add_columns(const float* x, int64_t rows, int64_t d, double* sum,
                                 double* times) {
  Lanes numbers[strips] = {}, counted[strips] = {};
  for (int64_t t = 0; t < rows; ++t) {
    const auto token = static_cast<float>(t);
    for (int64_t s = 0; s < strips; ++s) {
      Lanes row;
      load(row, x + t * d + s * kLanes);
      numbers[s] += row;
      counted[s] += row * token;
    }
  }
  for (int64_t s = 0; s < strips; ++s) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      sum[s * kLanes + lane] += numbers[s][lane];
      times[s * kLanes + lane] += counted[s][lane];
    }
  }
}

}  // namespace

ROPEWALK_CLONES void prefix_rows(float* x, const float* mean, int64_t rows, int64_t d) {
  for (int64_t j = 0; j < d; ++j) x[j] -= mean[j];
  for (int64_t t = 1; t < rows; ++t) {
    const float* const above = x + (t - 1) * d;
    float* const row = x + t * d;
    for (int64_t j = 0; j < d; ++j) row[j] = above[j] + (row[j] - mean[j]);
  }
}

ROPEWALK_CLONES void add_rows(const float* x, int64_t rows, int64_t d, double* sum, double* times) {
  int64_t j = 0;
  for (; j + kSums * kLanes <= d; j += kSums * kLanes) {
    add_columns<kSums>(x + j, rows, d, sum + j, times + j);
  }
  for (; j + kLanes <= d; j += kLanes) add_columns<1>(x + j, rows, d, sum + j, times + j);
  for (; j < d; ++j) {
    for (int64_t t = 0; t < rows; ++t) {
      sum[j] += x[t * d + j];
      times[j] += static_cast<double>(t) * x[t * d + j];
    }
  }
}

ROPEWALK_CLONES float float_dot(const float* a, const float* b, int64_t count) {
  Lanes products[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
    for (int64_t s = 0; s < kSums; ++s) {
      Lanes x, y;
      load(x, a + i + s * kLanes);
      load(y, b + i + s * kLanes);
      products[s] += x * y;
    }
  }
  for (; i + kLanes <= count; i += kLanes) {
    Lanes x, y;
    load(x, a + i);
    load(y, b + i);
    products[0] += x * y;
  }
  const Lanes lanes = (products[0] + products[1]) + (products[2] + products[3]);
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

ROPEWALK_CLONES double difference_dot(const double* a, const double* b, const double* c,
                                      int64_t count) {
  Doubles products = {};
  int64_t j = 0;
  for (; j + kDoubles <= count; j += kDoubles) {
    Doubles x, y, z;
    __builtin_memcpy(&x, a + j, sizeof(x));
    __builtin_memcpy(&y, b + j, sizeof(y));
    __builtin_memcpy(&z, c + j, sizeof(z));
    products += x * (y - z);
  }
  double sum = 0;
  for (int64_t lane = 0; lane < kDoubles; ++lane) sum += products[lane];
  for (; j < count; ++j) sum += a[j] * (b[j] - c[j]);
  return sum;
}

}  // namespace ropewalk
