#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const at::Tensor all = head.trace.unsqueeze(1);  // [replicates, 1]
  return at::where(all > 0, head.eigenvalues / all, at::full_like(head.eigenvalues, kUndefined));
}

}  // namespace

const std::vector<Statistic>& explained_variance() {
  static const std::vector<Statistic> kStatistics{
      {.key = "explained_variance",
       .title = "variance",
       .definition = "the component's share of the variance of queries and keys together",
       .scale = ChangeScale::share,
       .last_error = true,
       .low = 0,
       .high = 1,
       .shares = true,
       .views = {{.key = "explained_variance",
                  .name = "explained variance of PC0",
                  .change = 0.25,
                  .mean = "pc0_explained_variance",
                  .mean_name = "variance of PC0",
                  .hint = "share of q and k together",
                  .line = {"PC0", "circle"}}},
       .figure = {"explained_variance", "Variance explained by PC0 over training",
                  "explained variance of PC0", "Mean share of variance", false},
       .compute = compute}};
  return kStatistics;
}

}  // namespace ropewalk::statistic
