#include "ropewalk/analysis/run/carried_signs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ropewalk/analysis/replicates/sign_rule.h"
#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {
namespace {

constexpr double kNear = 2;  // standard errors

using Head = std::pair<int64_t, int64_t>;

// The rows of one head in the table.
struct HeadRows {
  size_t first = 0;  // row of PC0
  size_t count = 0;
  size_t number = 0;  // the head's index
};

std::vector<HeadRows> heads_of(const CheckpointTable& checkpoint) {
  std::vector<HeadRows> heads;
  for (const size_t row : checkpoint.head_rows()) heads.push_back({row, 1, heads.size()});
  for (size_t i = 0; i < heads.size(); ++i) {
    const size_t end = i + 1 < heads.size() ? heads[i + 1].first : checkpoint.rows();
    heads[i].count = end - heads[i].first;
  }
  return heads;
}

void add_head_flag(CheckpointTable& checkpoint, const HeadRows& rows, const char* name) {
  for (size_t row = rows.first; row < rows.first + rows.count; ++row) {
    add_flag(checkpoint.head_flag[row], name);
  }
}

// Copies a head's numbers from one statistic to another, times a sign.
void copy_signed(CheckpointTable& checkpoint, const HeadRows& rows, const char* from,
                 const char* to, double sign) {
  const HeadColumn& source = checkpoint.columns[statistic_index(from)];
  HeadColumn& target = checkpoint.columns[statistic_index(to)];
  for (size_t row = rows.first; row < rows.first + rows.count; ++row) {
    target.value[row] = sign * source.value[rows.first];
    target.se[row] = source.se[rows.first];
  }
  const auto blocks = static_cast<size_t>(checkpoint.n_blocks[rows.first]);
  for (size_t i = rows.number * blocks; i < (rows.number + 1) * blocks; ++i) {
    target.replicates[i] = sign * source.replicates[i];
  }
}

// The sign to carry, and how the axis changed.
struct CarriedSign {
  double sign = 1;
  double overlap = std::numeric_limits<double>::quiet_NaN();
  bool changed = false;
};

CarriedSign carry(const HeadAxis& axis, const HeadAxis* before) {
  CarriedSign carried;
  if (before == nullptr || before->vector.size() != axis.vector.size()) return carried;
  const double product = before->sign * std::inner_product(axis.vector.begin(), axis.vector.end(),
                                                           before->vector.begin(), 0.0);
  carried.overlap = std::min(std::abs(product), 1.0);
  carried.changed = !(carried.overlap >= kSameAxis);
  carried.sign = (carried.changed ? axis.drift : product) < 0 ? -1 : 1;
  return carried;
}

// The axes of a checkpoint, per head.
std::map<Head, const HeadAxis*> axes_of(const CheckpointTable& checkpoint) {
  std::map<Head, const HeadAxis*> axes;
  for (const HeadRows& rows : heads_of(checkpoint)) {
    axes.emplace(Head{checkpoint.layer[rows.first], checkpoint.q_head[rows.first]},
                 &checkpoint.axes[rows.number]);
  }
  return axes;
}

// The checkpoint from which signs are carried to this one: the step before it, or for the first
// step at a context, the same checkpoint at a shorter context. Tables that were read from files
// have no axes and are skipped.
std::optional<size_t> carried_from(const RunOrder& order, size_t index,
                                   const std::vector<CheckpointTable>& checkpoints) {
  if (checkpoints[index].random) return std::nullopt;
  std::optional<size_t> from = order.step_from(index);
  while (from && checkpoints[*from].axes.empty()) from = order.step_from(*from);
  if (!from) from = order.context_from(index);
  const bool carried = from && *from < index && !checkpoints[*from].axes.empty();
  return carried ? from : std::nullopt;
}

}  // namespace

bool sign_uncertain(double r_q, double r_q_se, double r_k, double r_k_se) {
  const double q = kNear * r_q_se, k = kNear * r_k_se;
  const bool q_turns = r_q + kSignSwitch <= q;  // r_q may have the opposite sign
  if (r_q < kSignSwitch) return q_turns || r_k <= k;
  const bool q_fades = r_q - kSignSwitch <= q;  // r_q may be small, so that r_k decides
  return q_turns || (q_fades && r_k <= k);
}

void carry_signs(std::vector<CheckpointTable>& checkpoints) {
  const RunOrder order(checkpoints);
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    CheckpointTable& checkpoint = checkpoints[i];
    if (checkpoint.axes.empty()) continue;  // a table that was read from a file
    std::map<Head, const HeadAxis*> before;
    if (const auto from = carried_from(order, i, checkpoints)) before = axes_of(checkpoints[*from]);
    for (const HeadRows& rows : heads_of(checkpoint)) {
      const Head head{checkpoint.layer[rows.first], checkpoint.q_head[rows.first]};
      HeadAxis& axis = checkpoint.axes[rows.number];
      const auto found = before.find(head);
      const CarriedSign carried = carry(axis, found == before.end() ? nullptr : found->second);
      axis.sign = carried.sign;
      copy_signed(checkpoint, rows, "r_q", "r_q_run", carried.sign);
      copy_signed(checkpoint, rows, "r_k", "r_k_run", carried.sign);
      const size_t overlap = statistic_index("pc0_overlap");
      for (size_t row = rows.first; row < rows.first + rows.count; ++row) {
        checkpoint.columns[overlap].value[row] = carried.overlap;
      }
      if (carried.changed) add_head_flag(checkpoint, rows, kAxisChanged);
      const HeadColumn &r_q = checkpoint.column("r_q"), &r_k = checkpoint.column("r_k");
      if (sign_uncertain(r_q.value[rows.first], r_q.se[rows.first], r_k.value[rows.first],
                         r_k.se[rows.first])) {
        add_head_flag(checkpoint, rows, kSignUncertain);
      }
    }
  }
}

}  // namespace ropewalk
