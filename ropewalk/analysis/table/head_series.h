#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ropewalk {

// Points that heads share: thetas of pairs, or distances or positions of curves. Of windows, where
// they begin and end and the mean of what lies in each; else the last two are empty.
struct SeriesGrid {
  std::vector<double> x{};
  std::vector<double> end{};
  std::vector<double> mean{};

  bool operator==(const SeriesGrid&) const = default;
  // Where the points are drawn.
  const std::vector<double>& drawn() const { return mean.empty() ? x : mean; }
};

// The mean over heads of a series, at each point of a grid.
struct SeriesMean {
  static constexpr int64_t kAll = -1;

  size_t grid = 0;             // a place among the checkpoint's grids
  int64_t rope = kAll;         // of RoPE heads (1), NoPE heads (0) or all; bands: of RoPE heads
  std::vector<double> value;   // NaN: no head has it
  std::vector<double> se;      // NaN: unknown
  std::vector<int64_t> heads;  // that have it
};

// What a mean is made of: sums over heads in every case (row 0: all documents). While heads are
// added.
struct SeriesSums {
  size_t grid = 0;
  int64_t rope = 1;
  std::vector<double> sums;   // [replicates, points]
  std::vector<double> sizes;  // [blocks]: tokens
  std::vector<int64_t> heads;
};

// One series (series.h) of all heads of a checkpoint; heads as CheckpointTable::head_rows counts
// them.
struct HeadSeries {
  static constexpr size_t kNoGrid = std::numeric_limits<size_t>::max();

  std::vector<size_t> grid;   // of each head: where its points lie; kNoGrid: it has none
  std::vector<size_t> begin;  // of each head's numbers, and their end
  std::vector<double> value;  // NaN: undefined
  std::vector<double> se;     // NaN: unknown
  std::vector<SeriesMean> means;
  std::vector<SeriesSums> sums;

  size_t heads() const { return grid.size(); }
  std::span<const double> values(size_t head) const { return of(value, head); }
  std::span<const double> errors(size_t head) const { return of(se, head); }

 private:
  std::span<const double> of(const std::vector<double>& all, size_t head) const {
    return std::span(all).subspan(begin[head], begin[head + 1] - begin[head]);
  }
};

// The sums of heads with this grid, on RoPE layers or not; added where there are none yet.
SeriesSums& sums_for(std::vector<SeriesSums>& all, size_t grid, int64_t rope);

struct CheckpointTable;

// The points of a head. None where it has no such numbers.
const SeriesGrid& series_points(const CheckpointTable& checkpoint, size_t index, size_t head);

// The place of such a grid, which is added where the checkpoint does not have it yet.
size_t find_grid(CheckpointTable& checkpoint, const SeriesGrid& points);

// Adds the series of another part of the same checkpoint.
void append_series(CheckpointTable& checkpoint, const CheckpointTable& part);

// Makes the means of what was added, and drops the sums.
void finish_series(CheckpointTable& checkpoint);

enum class SeriesTable;

// Makes the means of what was read from a table, without errors.
void mean_over_heads(CheckpointTable& checkpoint, SeriesTable table);

}  // namespace ropewalk
