#include "ropewalk/analysis/run/sign_turns.h"

#include <cmath>

#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/replicates/sign_rule.h"
#include "ropewalk/analysis/run/carried_signs.h"

namespace ropewalk {
namespace {

Estimate number(const HeadGroup& group, size_t statistic, size_t i) {
  return head_estimate(*group.checkpoint, statistic, group.rows[i], group.numbers[i]);
}

}  // namespace

std::vector<size_t> uncertain_signs(const HeadGroup& group) {
  const HeadColumn &r_q = group.checkpoint->column("r_q"), &r_k = group.checkpoint->column("r_k");
  std::vector<size_t> found;
  for (size_t i = 0; i < group.rows.size(); ++i) {
    const size_t row = group.rows[i];
    if (sign_uncertain(r_q.value[row], r_q.se[row], r_k.value[row], r_k.se[row])) {
      found.push_back(i);
    }
  }
  return found;
}

double turning_error(const HeadGroup& group, size_t statistic) {
  if (group.blocks < 2) return 0;
  struct Head {
    Estimate r_q, r_k, of;
  };
  std::vector<Head> heads;
  for (const size_t i : uncertain_signs(group)) {
    Head head{number(group, statistic_index("r_q"), i), number(group, statistic_index("r_k"), i),
              number(group, statistic, i)};
    if (head.r_q.complete() && head.r_k.complete()) heads.push_back(std::move(head));
  }
  if (heads.empty()) return 0;
  std::vector<double> turned(kResamples, 0);  // per draw: by how much turned signs change the mean
  const Resamples resamples(group.blocks);
  for (const Head& head : heads) {
    const std::vector<double> r_q = resamples.of(head.r_q.value, head.r_q.replicates);
    const std::vector<double> r_k = resamples.of(head.r_k.value, head.r_k.replicates);
    const std::vector<double> of = resamples.of(head.of.value, head.of.replicates);
    for (size_t i = 0; i < kResamples; ++i) {
      const double decides = std::abs(r_q[i]) >= kSignSwitch ? r_q[i] : r_k[i];
      if (decides < 0) turned[i] -= 2 * of[i];
    }
  }
  for (double& one : turned) one /= static_cast<double>(group.rows.size());
  return standard_deviation(turned);
}

}  // namespace ropewalk
