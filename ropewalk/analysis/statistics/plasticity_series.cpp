// Plasticity by position: curves.csv.

#include "ropewalk/analysis/replicates/plasticity.h"

#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

std::vector<double> centres(const HeadReplicates& head) {
  std::vector<double> found;
  if (!head_plasticity(head).defined()) return found;
  const auto sample = head.queries.input.part<PlasticitySample>("plasticity");
  for (const auto& bucket : sample->plan->buckets) {
    found.push_back(bucket.centre);
  }
  return found;
}

at::Tensor compute(const HeadReplicates& head) { return head_plasticity(head); }

}  // namespace

const std::vector<SeriesStatistic>& plasticity() {
  static const std::vector<SeriesStatistic> kList{
      {"plasticity",
       "plasticity",
       "how often two queries near position `x` rank the same two earlier keys of another document "
       "differently, times two (1: content decides; 0: fixed order)",
       SeriesTable::curves,
       Hue::both,
       0,
       2,
       centres,
       compute,
       {"Attention plasticity, over training",
        "How often two queries rank the same two keys differently, times two (1: content decides; "
        "0: fixed order)",
        {{"ap_overall", "all positions", "diamond"},
         {"ap_first20", "first fifth", "triangle-up"},
         {"ap_last20", "last fifth", "triangle-down"}}}}};
  return kList;
}

}  // namespace ropewalk::series_of
