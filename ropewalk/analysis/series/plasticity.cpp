// Plasticity by position: curves.csv.

#include "ropewalk/analysis/plasticity.h"

#include "ropewalk/analysis/series.h"

namespace ropewalk::series_of {
namespace {

std::vector<double> centres(const HeadCases& head) {
  std::vector<double> found;
  if (!head_plasticity(head).defined()) return found;
  for (const auto& bucket : head.queries.input.plasticity->plan->buckets) {
    found.push_back(bucket.centre);
  }
  return found;
}

at::Tensor compute(const HeadCases& head) { return head_plasticity(head); }

}  // namespace

const std::vector<SeriesStatistic>& plasticity() {
  static const std::vector<SeriesStatistic> kList{
      {"plasticity", "plasticity",
       "twice the chance that two queries near position `x`, of other documents, disagree about "
       "which of two earlier keys of a document they prefer: 1 where content decides, 0 where the "
       "order is fixed",
       SeriesTable::curves, Hue::both, 0, 2, centres, compute}};
  return kList;
}

}  // namespace ropewalk::series_of
