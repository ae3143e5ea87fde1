#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

inline constexpr int kResamples = 1000;

// How often each of g blocks is drawn in each of kResamples samples of g blocks with replacement.
// The same for the same g, always: shared by all heads, and by both checkpoints of a pair.
std::vector<std::vector<int>> block_draws(size_t blocks);

// The estimate under one draw, linear in the blocks: r + sum of (c_b - 1) (g-1)/g (r - r_(b)). For
// step functions of the estimate (class fractions), whose jackknife fails (docs/method.md).
double resampled(double estimate, std::span<const double> replicates, std::span<const int> draw);

double standard_deviation(std::span<const double> values);

}  // namespace ropewalk
