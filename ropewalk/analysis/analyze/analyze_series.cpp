#include "ropewalk/analysis/analyze/analyze_series.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/qk_table.h"

namespace ropewalk {
namespace {

std::string flags_of(const HeadReplicates& head, size_t blocks, bool random) {
  std::string flags;
  const auto add = [&](bool set, const char* name) {
    if (set) add_flag(flags, name);
  };
  add(!head.rope || !head.rope->has_sums(), "no_pre_rope");
  add(head.rope && head.rope->layer->by_length, "theta_by_length");
  add(blocks >= 2 && blocks < kFewBlocks, "few_blocks");
  add(random, kRandomWeights);
  return flags;
}

// `data`: [replicates, points].
void add_numbers(HeadSeries& series, SeriesSums& sums, const double* data, size_t points,
                 const std::vector<double>& sizes) {
  sums.sums.resize((sizes.size() + 1) * points);
  sums.sizes.resize(sizes.size());
  sums.heads.resize(points);
  std::vector<double> replicates(sizes.size());
  for (size_t i = 0; i < points; ++i) {
    for (size_t b = 0; b < sizes.size(); ++b) replicates[b] = data[(b + 1) * points + i];
    series.value.push_back(data[i]);
    series.se.push_back(jackknife_se(data[i], replicates, sizes));
    if (std::isnan(data[i])) continue;
    ++sums.heads[i];
    for (size_t row = 0; row <= sizes.size(); ++row) {
      sums.sums[row * points + i] += data[row * points + i];
    }
  }
  for (size_t b = 0; b < sizes.size(); ++b) sums.sizes[b] += sizes[b];
}

}  // namespace

void add_series(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
                const std::vector<double>& sizes) {
  const std::vector<const SeriesStatistic*>& list = series();
  checkpoint.series.resize(list.size());
  checkpoint.series_flag.push_back(flags_of(head, sizes.size(), checkpoint.random));
  for (size_t index = 0; index < list.size(); ++index) {
    HeadSeries& found = checkpoint.series[index];
    if (found.begin.empty()) found.begin.push_back(0);
    const std::vector<double> points = list[index]->points(head);
    SeriesGrid grid{points};
    if (!points.empty() && list[index]->windows != nullptr) {
      const SeriesWindows windows = list[index]->windows(head);
      grid.end = windows.end;
      grid.mean = windows.mean;
    }
    found.grid.push_back(points.empty() ? HeadSeries::kNoGrid : find_grid(checkpoint, grid));
    if (!points.empty()) {
      const at::Tensor values = list[index]->compute(head).contiguous();
      const auto width = static_cast<int64_t>(points.size());
      if (values.dim() != 2 || values.size(0) != head.blocks() + 1 || values.size(1) != width) {
        throw std::logic_error(fmt::format(
            "series {}: found values [{}], expected [{}, {}]: cases by points", list[index]->key,
            fmt::join(values.sizes(), ", "), head.blocks() + 1, width));
      }
      SeriesSums& sums = sums_for(found.sums, found.grid.back(), id.rope.value_or(true) ? 1 : 0);
      add_numbers(found, sums, values.const_data_ptr<double>(), points.size(), sizes);
    }
    found.begin.push_back(found.value.size());
  }
}

}  // namespace ropewalk
