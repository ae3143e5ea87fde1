// Logits by distance: curves.csv.

#include "ropewalk/analysis/replicates/distance_curves.h"
#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

// Of a curve that the head has.
template <at::Tensor DistanceCurves::*Member>
std::vector<double> lags(const HeadReplicates& head) {
  if (!head.rope || !(distance_curves(head).*Member).defined()) return {};
  const std::vector<int64_t>& found = head.rope->layer->lags;
  return {found.begin(), found.end()};
}

template <at::Tensor DistanceCurves::*Member>
at::Tensor logits(const HeadReplicates& head) {
  return distance_curves(head).*Member * head.units.scale;
}

}  // namespace

const std::vector<SeriesStatistic>& distance() {
  constexpr double kAny = std::numeric_limits<double>::max();
  static const std::vector<SeriesStatistic> kList{
      {"dist_pred", "predicted logit",
       "logit of the RoPE-rotated mean query and mean key, `x` tokens apart; the means are those "
       "before RoPE, over tokens from position 4 on",
       SeriesTable::curves, Hue::both, -kAny, kAny, lags<&DistanceCurves::predicted>,
       logits<&DistanceCurves::predicted>},
      {"dist_actual", "mean actual logit",
       "mean logit of the queries and keys of a document that stand `x` tokens apart, both from "
       "position 4 on",
       SeriesTable::curves, Hue::both, -kAny, kAny, lags<&DistanceCurves::actual>,
       logits<&DistanceCurves::actual>}};
  return kList;
}

}  // namespace ropewalk::series_of
