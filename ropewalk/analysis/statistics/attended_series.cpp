// Attention by distance: curves.csv.

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

std::vector<double> distances(const HeadReplicates& head) {
  std::vector<double> found;
  const auto rows = row_replicates(head);
  for (int64_t part = 0; rows && part < rows->distances.size(2); ++part) {
    found.push_back(static_cast<double>(distance_part_begin(part)));
  }
  return found;
}

// Every window's middle stands for it.
SeriesWindows windows(const HeadReplicates& head) {
  SeriesWindows found;
  const auto parts = static_cast<int64_t>(distances(head).size());
  for (int64_t part = 0; part < parts; ++part) {
    const auto begin = static_cast<double>(distance_part_begin(part));
    const auto end = static_cast<double>(distance_part_begin(part + 1));
    found.end.push_back(end);
    found.mean.push_back((begin + end - 1) / 2);
  }
  return found;
}

at::Tensor compute(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  const at::Tensor count = rows->sum(RowNumber::rows).unsqueeze(1);
  return at::where(count > 0, rows->distances.sum(1) / count, kUndefined);
}

}  // namespace

const std::vector<SeriesStatistic>& attended() {
  static const std::vector<SeriesStatistic> kList{
      {"attended",
       "attention by distance",
       "mean of what a token's attention gives to tokens at distances from `x` to below `x_end`, "
       "without the first four of the document",
       SeriesTable::curves,
       Hue::both,
       0,
       1,
       distances,
       compute,
       {},
       windows}};
  return kList;
}

}  // namespace ropewalk::series_of
