#include "ropewalk/analysis/run/change.h"

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

}  // namespace ropewalk
