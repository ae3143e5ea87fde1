#include "ropewalk/analysis/table/roles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

std::optional<bool> has_role(const Role& role, double score, double se) {
  if (std::isnan(score) || std::isnan(se)) return std::nullopt;
  return score - kRoleErrors * se > role.threshold;
}

std::optional<bool> has_role(const Role& role, const CheckpointTable& checkpoint, size_t row) {
  const HeadColumn& score = checkpoint.column(role.score);
  return has_role(role, score.value[row], score.se[row]);
}

RoleNumbers role_numbers(const Role& role, const CheckpointTable& checkpoint) {
  RoleNumbers numbers;
  std::vector<double> scores;
  for (const size_t row : checkpoint.head_rows()) {
    const std::optional<bool> has = has_role(role, checkpoint, row);
    if (!has) continue;
    if (*has) ++numbers.heads;
    scores.push_back(checkpoint.column(role.score).value[row]);
  }
  numbers.of = scores.size();
  const size_t top = (scores.size() + kTopPart - 1) / kTopPart;
  std::sort(scores.begin(), scores.end(), std::greater<>());
  const double sum =
      std::accumulate(scores.begin(), scores.begin() + static_cast<int64_t>(top), 0.0);
  numbers.top = sum / static_cast<double>(top);
  return numbers;
}

}  // namespace ropewalk
