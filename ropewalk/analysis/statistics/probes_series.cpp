// Induction by the distance of the copies: curves.csv.

#include "ropewalk/analysis/replicates/probes.h"
#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

std::vector<double> distances(const HeadReplicates& head) {
  const auto found = probe_replicates(head);
  return found ? found->apart : std::vector<double>{};
}

at::Tensor compute(const HeadReplicates& head) { return probe_replicates(head)->far; }

}  // namespace

const std::vector<SeriesStatistic>& probes() {
  static const std::vector<SeriesStatistic> kList{
      {"induction_far",
       "induction by distance",
       "in 50 random tokens that stand twice, `x` tokens apart with other random tokens between, "
       "mean of what the attention of the second copy's tokens gives to the token behind the same "
       "one in the first copy",
       SeriesTable::curves,
       Hue::both,
       0,
       1,
       distances,
       compute,
       {}}};
  return kList;
}

}  // namespace ropewalk::series_of
