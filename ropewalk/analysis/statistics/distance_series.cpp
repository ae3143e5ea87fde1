// Logits by distance: curves.csv.

#include "ropewalk/analysis/replicates/distance_curves.h"
#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

// Of a curve that the head has.
template <at::Tensor DistanceCurves::*Member>
std::vector<double> begins(const HeadReplicates& head) {
  std::vector<double> found;
  if (!head.rope || !(distance_curves(head).*Member).defined()) return found;
  for (const DistanceWindow& window : head.rope->layer->windows) {
    found.push_back(static_cast<double>(window.begin));
  }
  return found;
}

SeriesWindows windows(const HeadReplicates& head) {
  SeriesWindows found;
  const RopeLayer& layer = *head.rope->layer;
  for (const DistanceWindow& window : layer.windows) {
    found.end.push_back(static_cast<double>(window.end));
  }
  const at::Tensor means = layer.distances[0].contiguous();
  const double* data = means.const_data_ptr<double>();
  found.mean.assign(data, data + means.numel());
  return found;
}

template <at::Tensor DistanceCurves::*Member>
at::Tensor logits(const HeadReplicates& head) {
  return distance_curves(head).*Member;
}

}  // namespace

const std::vector<SeriesStatistic>& distance() {
  constexpr double kAny = std::numeric_limits<double>::max();
  static const std::vector<SeriesStatistic> kList{
      {"dist_pred",
       "predicted logit",
       "logit of the RoPE-rotated mean query and mean key, mean over the pairs of tokens whose "
       "distance is at least `x` and below `x_end`; the means are those before RoPE, over tokens "
       "from position 4 on",
       SeriesTable::curves,
       Hue::both,
       -kAny,
       kAny,
       begins<&DistanceCurves::predicted>,
       logits<&DistanceCurves::predicted>,
       {},
       windows},
      {"dist_actual",
       "mean actual logit",
       "mean logit of the queries and keys of a document whose distance is at least `x` and below "
       "`x_end`, both from position 4 on",
       SeriesTable::curves,
       Hue::both,
       -kAny,
       kAny,
       begins<&DistanceCurves::actual>,
       logits<&DistanceCurves::actual>,
       {},
       windows}};
  return kList;
}

}  // namespace ropewalk::series_of
