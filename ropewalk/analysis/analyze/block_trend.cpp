#include "ropewalk/analysis/analyze/block_trend.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ropewalk/analysis/math/student_t.h"

namespace ropewalk {
namespace {

constexpr double kChance = 0.01;
constexpr size_t kFewest = 4;  // fewest blocks for a test

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Whether the slope of y along x is significant, with n - 2 degrees of freedom.
bool slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const double x_mean = mean_of(x), y_mean = mean_of(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  const double df = static_cast<double>(x.size()) - 2;
  const double rest = xx * yy - xy * xy;
  if (!(xx > 0 && yy > 0)) return false;
  const double t = std::abs(xy) * std::sqrt(df / std::max(rest, 1e-12 * xx * yy));
  return 2 * (1 - student_t_cdf(t, df)) < kChance;
}

// The jackknife pseudo-value of a head's number for each block.
std::vector<double> pseudo_values(const HeadColumn& column, size_t row, size_t head,
                                  size_t blocks) {
  std::vector<double> values;
  if (column.replicates.size() < (head + 1) * blocks) return values;
  const auto n = static_cast<double>(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    values.push_back(n * column.value[row] - (n - 1) * column.replicates[head * blocks + b]);
  }
  return values;
}

}  // namespace

int64_t flag_trends(CheckpointTable& checkpoint, const std::vector<double>& steps) {
  if (steps.size() < kFewest) return 0;
  int64_t flagged = 0;
  const std::vector<size_t> rows = checkpoint.head_rows();
  for (size_t head = 0; head < rows.size(); ++head) {
    const size_t row = rows[head];
    if (checkpoint.n_blocks[row] != static_cast<int64_t>(steps.size())) continue;
    bool trend = false;
    for (const char* key : {"r2cv_q", "r2cv_k", "r_q"}) {
      const std::vector<double> blocks =
          pseudo_values(checkpoint.column(key), row, head, steps.size());
      trend = trend || (!blocks.empty() && slopes(steps, blocks));
    }
    if (!trend) continue;
    ++flagged;
    const size_t end = head + 1 < rows.size() ? rows[head + 1] : checkpoint.rows();
    for (size_t i = row; i < end; ++i) add_flag(checkpoint.head_flag[i], kTrend);
  }
  return flagged;
}

}  // namespace ropewalk
