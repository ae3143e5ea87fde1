#include "ropewalk/analysis/run/change.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/student_t.h"

namespace ropewalk {
namespace {

size_t blocks_of(const CheckpointTable& checkpoint) {
  return checkpoint.block_sizes.empty() ? 0 : static_cast<size_t>(checkpoint.n_blocks.front());
}

}  // namespace

bool Change::known() const { return !std::isnan(value) && !std::isnan(se); }

bool Change::real() const { return known() && std::abs(value) > student_t_95(df) * se; }

double Change::p_value() const {
  if (!known() || !(df > 0)) return 1;
  if (se == 0) return value == 0 ? 1 : 0;
  return 2 * student_t_cdf(-std::abs(value) / se, df);
}

Pairing pairing(const CheckpointTable& from, const CheckpointTable& to) {
  const size_t before = blocks_of(from), after = blocks_of(to);
  const bool same = from.known_documents && to.known_documents && from.documents == to.documents;
  const bool paired =
      same && !from.documents.empty() && from.blocks == to.blocks && before == after;
  return {paired, static_cast<double>(std::min(before, after)) - 1};
}

Change subtract(const Estimate& from, const Estimate& to, const std::vector<double>& sizes,
                const Pairing& pairing) {
  Change change{to.value - from.value, std::hypot(from.se, to.se), pairing.df};
  if (pairing.paired && !to.replicates.empty()) {
    std::vector<double> replicates;
    for (size_t b = 0; b < to.replicates.size(); ++b) {
      replicates.push_back(to.replicates[b] - from.replicates[b]);
    }
    change.se = jackknife_se(change.value, replicates, sizes);
  }
  return change;
}

std::vector<double> false_discovery_rates(const std::vector<double>& p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> rates(p_values.size(), std::nan(""));
  double smallest = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    smallest = std::min(
        smallest, p_values[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
    rates[i] = smallest;
  }
  return rates;
}

}  // namespace ropewalk
