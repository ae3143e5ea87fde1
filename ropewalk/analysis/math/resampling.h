#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

inline constexpr int kResamples = 1000;

// How often each of g blocks is drawn in each of kResamples samples of g blocks with replacement.
// The result depends only on g, so all heads and both checkpoints of a pair share the same draws.
std::vector<std::vector<int>> block_draws(size_t blocks);

// The estimate under each draw c of block_draws, linear in the blocks: r + sum of (c_b - 1) (g-1)/g
// (r - r_(b)). It is needed for step functions of the estimate (class fractions), for which the
// jackknife fails (docs/method.md).
class Resamples {
 public:
  explicit Resamples(size_t blocks);
  std::vector<double> of(double estimate, std::span<const double> replicates) const;  // [draws]

 private:
  std::vector<double> weights_;  // (c_b - 1) (g-1)/g: [blocks, draws]
};

double standard_deviation(std::span<const double> values);

}  // namespace ropewalk
