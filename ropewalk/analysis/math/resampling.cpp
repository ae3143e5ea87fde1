#include "ropewalk/analysis/math/resampling.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace ropewalk {

std::vector<std::vector<int>> block_draws(size_t blocks) {
  constexpr uint64_t kSeed = 0x526f706577616c6b;
  std::mt19937_64 generator(kSeed);
  std::vector<std::vector<int>> draws(kResamples, std::vector<int>(blocks));
  for (auto& draw : draws) {
    for (size_t i = 0; i < blocks; ++i) {
      // The high half of a product maps 32 random bits onto 0 … blocks - 1 the same way everywhere;
      // std::uniform_int_distribution may differ between standard libraries.
      ++draw[static_cast<size_t>(((generator() >> 32) * blocks) >> 32)];
    }
  }
  return draws;
}

Resamples::Resamples(size_t blocks) : weights_(blocks * kResamples) {
  const auto g = static_cast<double>(blocks);
  const std::vector<std::vector<int>> draws = block_draws(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t i = 0; i < draws.size(); ++i) {
      weights_[b * kResamples + i] = (draws[i][b] - 1) * (g - 1) / g;
    }
  }
}

std::vector<double> Resamples::of(double estimate, std::span<const double> replicates) const {
  std::vector<double> found(kResamples, estimate);
  double* const values = found.data();
  for (size_t b = 0; b < replicates.size(); ++b) {
    const double difference = estimate - replicates[b];
    const double* const weights = weights_.data() + b * kResamples;
#pragma omp simd
    for (size_t i = 0; i < kResamples; ++i) values[i] += weights[i] * difference;
  }
  return found;
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / (n - 1));
}

}  // namespace ropewalk
