#include "ropewalk/analysis/table/head_series.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void add(SeriesSums& to, const SeriesSums& from) {
  const auto plus = [](auto& all, const auto& part) {
    if (all.empty()) all.resize(part.size());
    for (size_t i = 0; i < part.size(); ++i) all[i] += part[i];
  };
  plus(to.sums, from.sums);
  plus(to.sizes, from.sizes);
  plus(to.heads, from.heads);
}

SeriesMean mean_of(const SeriesSums& sums) {
  SeriesMean mean{sums.grid, sums.rope, {}, {}, sums.heads};
  const size_t points = sums.heads.size();
  std::vector<double> replicates(sums.sizes.size());
  for (size_t i = 0; i < points; ++i) {
    const auto heads = static_cast<double>(sums.heads[i]);
    mean.value.push_back(heads > 0 ? sums.sums[i] / heads : kNone);
    for (size_t b = 0; b < replicates.size(); ++b) {
      replicates[b] = sums.sums[(b + 1) * points + i] / heads;
    }
    mean.se.push_back(heads > 0 ? jackknife_se(mean.value[i], replicates, sums.sizes) : kNone);
  }
  return mean;
}

// Means of RoPE heads, and of curves also of NoPE heads and of all.
std::vector<SeriesMean> means_of(const std::vector<SeriesSums>& parts, SeriesTable table) {
  std::vector<SeriesMean> means;
  for (const SeriesSums& part : parts) {
    if (part.rope == 1 || table == SeriesTable::curves) means.push_back(mean_of(part));
  }
  if (table == SeriesTable::bands) return means;
  std::vector<SeriesSums> all;
  for (const SeriesSums& part : parts) {
    add(sums_for(all, part.grid, SeriesMean::kAll), part);
  }
  for (const SeriesSums& sums : all) means.push_back(mean_of(sums));
  return means;
}

}  // namespace

SeriesSums& sums_for(std::vector<SeriesSums>& all, size_t grid, int64_t rope) {
  for (SeriesSums& sums : all) {
    if (sums.grid == grid && sums.rope == rope) return sums;
  }
  SeriesSums& sums = all.emplace_back();
  sums.grid = grid;
  sums.rope = rope;
  return sums;
}

const SeriesGrid& series_points(const CheckpointTable& checkpoint, size_t index, size_t head) {
  static const SeriesGrid kNone;
  if (index >= checkpoint.series.size() || head >= checkpoint.series[index].heads()) return kNone;
  const size_t grid = checkpoint.series[index].grid[head];
  return grid == HeadSeries::kNoGrid ? kNone : checkpoint.grids[grid];
}

size_t find_grid(CheckpointTable& checkpoint, const SeriesGrid& points) {
  const auto known = std::find(checkpoint.grids.begin(), checkpoint.grids.end(), points);
  if (known != checkpoint.grids.end()) {
    return static_cast<size_t>(known - checkpoint.grids.begin());
  }
  checkpoint.grids.push_back(points);
  return checkpoint.grids.size() - 1;
}

void append_series(CheckpointTable& checkpoint, const CheckpointTable& part) {
  checkpoint.series.resize(part.series.size());
  checkpoint.series_flag.insert(checkpoint.series_flag.end(), part.series_flag.begin(),
                                part.series_flag.end());
  std::vector<size_t> grids;
  for (const SeriesGrid& points : part.grids) {
    grids.push_back(find_grid(checkpoint, points));
  }
  for (size_t index = 0; index < part.series.size(); ++index) {
    HeadSeries& to = checkpoint.series[index];
    const HeadSeries& from = part.series[index];
    const size_t before = to.value.size();
    if (to.begin.empty()) to.begin.push_back(0);
    for (size_t head = 0; head < from.heads(); ++head) {
      const size_t grid = from.grid[head];
      to.grid.push_back(grid == HeadSeries::kNoGrid ? grid : grids[grid]);
      to.begin.push_back(before + from.begin[head + 1]);
    }
    to.value.insert(to.value.end(), from.value.begin(), from.value.end());
    to.se.insert(to.se.end(), from.se.begin(), from.se.end());
    for (const SeriesSums& sums : from.sums) {
      add(sums_for(to.sums, grids[sums.grid], sums.rope), sums);
    }
  }
}

void finish_series(CheckpointTable& checkpoint) {
  for (size_t index = 0; index < checkpoint.series.size(); ++index) {
    HeadSeries& one = checkpoint.series[index];
    one.means = means_of(one.sums, series()[index]->table);
    one.sums.clear();
  }
}

void mean_over_heads(CheckpointTable& checkpoint, SeriesTable table) {
  const std::vector<size_t> rows = checkpoint.head_rows();
  for (size_t index = 0; index < checkpoint.series.size(); ++index) {
    HeadSeries& one = checkpoint.series[index];
    if (series()[index]->table != table) continue;
    std::vector<SeriesSums> parts;
    for (size_t head = 0; head < one.heads(); ++head) {
      if (one.grid[head] == HeadSeries::kNoGrid) continue;
      SeriesSums& sums = sums_for(parts, one.grid[head], checkpoint.rope[rows[head]] == 0 ? 0 : 1);
      const auto values = one.values(head);
      sums.sums.resize(values.size());
      sums.heads.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) continue;
        sums.sums[i] += values[i];
        ++sums.heads[i];
      }
    }
    one.means = means_of(parts, table);
  }
}

}  // namespace ropewalk
