#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

// [1, 1]
at::Tensor compute(const HeadReplicates& head) {
  const bool constant = !(head.trace[0].item<double>() > 0);
  if (head.blocks() < 2 || constant) return at::full({1, 1}, kUndefined, at::kDouble);
  return head.overlap.slice(0, 1).select(1, 0).abs().min().reshape({1, 1});
}

}  // namespace

const std::vector<Statistic>& pc0_stability() {
  static const std::vector<Statistic> kStatistics{
      {.key = "pc0_stability",
       .title = "stability",
       .definition =
           "smallest overlap of PC0 with PC0 without one block of documents; low where PC0 and PC1 "
           "trade places",
       .scale = ChangeScale::correlation,
       .per = Granularity::head,
       .error = false,
       .low = 0,
       .high = 1,
       .views = {{.key = "pc0_stability", .name = "stability of PC0"}},
       .compute = compute}};
  return kStatistics;
}

}  // namespace ropewalk::statistic
