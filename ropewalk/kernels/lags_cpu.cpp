#include "ropewalk/kernels/lags_cpu.h"

#include <algorithm>
#include <array>

namespace ropewalk {
namespace {

// Queries that stay in a core's cache while all lags are summed.
constexpr int64_t kChunk = 256;

// In several sums side by side, as wide registers add.
float dot(const float* a, const float* b, int64_t d) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= d; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[static_cast<size_t>(j)] += a[i + j] * b[i + j];
  }
  float rest = 0;
  for (; i < d; ++i) rest += a[i] * b[i];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0] + rest;
}

}  // namespace

void sum_lags(const float* q, const float* k, int64_t tokens, int64_t d,
              const std::vector<int64_t>& lags, double* sum, double* squares) {
  for (int64_t from = 0; from < tokens; from += kChunk) {
    const int64_t to = std::min(from + kChunk, tokens);
    for (size_t i = 0; i < lags.size() && lags[i] < to; ++i) {
      double logits = 0;
      double squared = 0;
      for (int64_t t = std::max(from, lags[i]); t < to; ++t) {
        const double logit = dot(q + t * d, k + (t - lags[i]) * d, d);
        logits += logit;
        squared += logit * logit;
      }
      sum[i] += logits;
      squares[i] += squared;
    }
  }
}

}  // namespace ropewalk
