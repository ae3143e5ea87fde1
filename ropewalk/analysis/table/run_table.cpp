#include "ropewalk/analysis/table/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/edges_table.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

double rounded(double value) {
  if (std::isnan(value)) return value;
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), kTableNumber, value);
  double result = 0;
  std::from_chars(text.begin(), text.end(), result);
  return result;
}

// Rounds the values. A number per head is repeated in each of the head's rows, so it is rounded
// once.
void round_all(std::vector<double>& values) {
  double last = std::numeric_limits<double>::quiet_NaN(), last_rounded = last;
  for (double& value : values) {
    if (value != last) {
      last = value;
      last_rounded = rounded(value);
    }
    value = last_rounded;
  }
}

// Merges grids of points that are equal at the table's precision.
void round_grids(CheckpointTable& checkpoint) {
  const std::vector<SeriesGrid> exact = std::exchange(checkpoint.grids, {});
  std::vector<size_t> indexes;
  for (SeriesGrid points : exact) {
    for (auto* numbers : {&points.x, &points.end, &points.mean}) round_all(*numbers);
    indexes.push_back(find_grid(checkpoint, points));
  }
  for (HeadSeries& one : checkpoint.series) {
    for (size_t& grid : one.grid) {
      if (grid != HeadSeries::kNoGrid) grid = indexes[grid];
    }
  }
}

}  // namespace

std::vector<size_t> CheckpointTable::head_rows() const {
  std::vector<size_t> found;
  for (size_t row = 0; row < rows(); ++row) {
    if (pc[row] == 0) found.push_back(row);
  }
  return found;
}

const HeadColumn& CheckpointTable::column(std::string_view key) const {
  return columns.at(statistic_index(key));
}

void add_flag(std::string& flags, std::string_view name) {
  if (!flags.empty()) flags += ';';
  flags += name;
}

bool holds_flag(std::string_view flags, std::string_view wanted) {
  while (true) {
    const size_t end = flags.find(';');
    if (flags.substr(0, end) == wanted) return true;
    if (end == std::string_view::npos) return false;
    flags.remove_prefix(end + 1);
  }
}

void append_heads(CheckpointTable& checkpoint, const CheckpointTable& part) {
  for (const auto member :
       {&CheckpointTable::layer, &CheckpointTable::q_head, &CheckpointTable::pc,
        &CheckpointTable::kv_head, &CheckpointTable::rope, &CheckpointTable::n_q,
        &CheckpointTable::n_k, &CheckpointTable::n_blocks}) {
    append(checkpoint.*member, part.*member);
  }
  append(checkpoint.flag, part.flag);
  append(checkpoint.head_flag, part.head_flag);
  append(checkpoint.axes, part.axes);
  append(checkpoint.block_sizes, part.block_sizes);
  append(checkpoint.edges, part.edges);
  checkpoint.columns.resize(part.columns.size());
  for (size_t i = 0; i < part.columns.size(); ++i) {
    append(checkpoint.columns[i].value, part.columns[i].value);
    append(checkpoint.columns[i].se, part.columns[i].se);
    append(checkpoint.columns[i].replicates, part.columns[i].replicates);
  }
  append_series(checkpoint, part);
}

RunTable rounded_to_file(const std::vector<CheckpointTable>& checkpoints, std::string source) {
  RunTable table{std::move(source), checkpoints};
  run_parallel(table.checkpoints.size(), [&](size_t i) {
    CheckpointTable& checkpoint = table.checkpoints[i];
    checkpoint.block_sizes.clear();
    checkpoint.axes.clear();
    for (HeadColumn& column : checkpoint.columns) {
      column.replicates.clear();
      round_all(column.value);
      round_all(column.se);
    }
    for (HeadSeries& one : checkpoint.series) {
      round_all(one.value);
      round_all(one.se);
    }
    checkpoint.loss_parts.clear();
    for (LossRow& row : checkpoint.loss) {
      row.loss = rounded(row.loss);
      row.se = rounded(row.se);
    }
    for (EdgeRow& edge : checkpoint.edges) {
      edge.p = rounded(edge.p);
      for (EdgeToken* token : {&edge.query, &edge.key}) {
        token->around.clear();
        for (std::string* text : {&token->before, &token->text, &token->after}) {
          *text = printable_excerpt(*text, kLongestTokenText);
        }
      }
    }
    round_grids(checkpoint);
    for (const SeriesTable file : {SeriesTable::bands, SeriesTable::curves}) {
      mean_over_heads(checkpoint, file);
    }
  });
  return table;
}

}  // namespace ropewalk
