#include "ropewalk/analysis/table/series_reader.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();

// Points of one series of one head, with their numbers.
struct SeriesPoints {
  SeriesGrid grid;
  std::vector<double> value, se;
};

// A head of the table: its checkpoint, and its series.
struct Head {
  size_t checkpoint = 0;
  std::vector<SeriesPoints> series;
};

class SeriesCollector {
 public:
  SeriesCollector(const RunTable& table, SeriesTable kind, const CsvHeader& header)
      : table_(table), kind_(kind), header_(header) {
    const bool bands = kind == SeriesTable::bands;
    const std::string needed =
        std::string("checkpoint, layer, q_head, ") + (bands ? "pair, theta" : "curve, x, value");
    checkpoint_ = header.require("checkpoint", "", needed);
    layer_ = header.require("layer", "", needed);
    q_head_ = header.require("q_head", "", needed);
    name_ = header.require(bands ? "pair" : "curve", "", needed);
    x_ = header.require(bands ? "theta" : "x", "", needed);
    if (!bands) {
      end_ = header.find("x_end");
      mean_ = header.find("x_mean");
    }
    for (const SeriesStatistic* one : series()) {
      const bool here = one->table == kind;
      values_.push_back(!here   ? std::nullopt
                        : bands ? header.find(one->key)
                                : std::optional(header.require("value", "", needed)));
      errors_.push_back(!here   ? std::nullopt
                        : bands ? header.find(error_column(one->key))
                                : header.find("value_se"));
    }
    for (size_t i = 0; i < table.checkpoints.size(); ++i) {
      const CheckpointTable& checkpoint = table.checkpoints[i];
      for (const size_t row : checkpoint.head_rows()) {
        order_.push_back({checkpoint.label, checkpoint.layer[row], checkpoint.q_head[row]});
        heads_[order_.back()] = {i, std::vector<SeriesPoints>(series().size())};
      }
    }
  }

  void add(const CsvRecord& record) {
    const Key key{record.name(checkpoint_), record.index(layer_), record.index(q_head_)};
    const auto found = heads_.find(key);
    if (found == heads_.end()) {
      throw InputError(
          "{}, line {}: checkpoint '{}', layer {}, head {} is not in {}; it belongs to another "
          "table",
          header_.source(), record.line(), printable_excerpt(std::get<0>(key), 60),
          std::get<1>(key), std::get<2>(key), table_.source);
    }
    const double x = record.number(x_, 0, kMost);
    if (x != x) record.fail(x_, "a number of at least 0");
    std::vector<SeriesPoints>& numbers = found->second.series;
    const std::string curve = kind_ == SeriesTable::curves ? record.name(name_) : "";
    for (size_t i = 0; i < series().size(); ++i) {
      const SeriesStatistic& one = *series()[i];
      if (!values_[i] || (kind_ == SeriesTable::curves && one.key != curve)) continue;
      SeriesPoints& points = numbers[i];
      if (kind_ == SeriesTable::bands) {
        if (record.index(name_) != static_cast<int64_t>(points.grid.x.size())) {
          record.fail(name_, "pairs that follow each other from 0, once each");
        }
      } else if (!points.grid.x.empty() && !(points.grid.x.back() < x)) {
        record.fail(x_, "more than in the row before");
      }
      points.grid.x.push_back(x);
      add_window(record, x, points.grid);
      points.value.push_back(record.number(*values_[i], one.low, one.high));
      points.se.push_back(errors_[i] ? record.number(*errors_[i], 0, kMost)
                                     : std::numeric_limits<double>::quiet_NaN());
    }
  }

  void give(RunTable& table) const {
    for (CheckpointTable& checkpoint : table.checkpoints) {
      checkpoint.series.resize(series().size());
      checkpoint.series_flag.resize(checkpoint.head_rows().size());
    }
    for (const Key& key : order_) {
      const Head& head = heads_.at(key);
      CheckpointTable& checkpoint = table.checkpoints[head.checkpoint];
      for (size_t i = 0; i < series().size(); ++i) {
        if (series()[i]->table == kind_) append(checkpoint, i, head.series[i]);
      }
    }
    for (CheckpointTable& checkpoint : table.checkpoints) mean_over_heads(checkpoint, kind_);
  }

 private:
  using Key = std::tuple<std::string, int64_t, int64_t>;

  // Tables of earlier versions, and curves by position, have none.
  void add_window(const CsvRecord& record, double x, SeriesGrid& grid) const {
    if (!end_ || !mean_) return;
    const double end = record.number(*end_, 0, kMost), mean = record.number(*mean_, 0, kMost);
    const bool none = std::isnan(end) && std::isnan(mean);
    const bool first = grid.x.size() == 1;
    if (none && (first || grid.end.empty())) return;
    if (!(end > x)) record.fail(*end_, "more than x, in all rows of a curve or in none");
    if (!(mean >= x && mean < end)) record.fail(*mean_, "a number from x to x_end");
    if (!first && grid.end.empty()) record.fail(*end_, "nothing, as in the row before");
    grid.end.push_back(end);
    grid.mean.push_back(mean);
  }

  static void append(CheckpointTable& checkpoint, size_t index, const SeriesPoints& points) {
    HeadSeries& to = checkpoint.series[index];
    if (to.begin.empty()) to.begin.push_back(0);
    to.grid.push_back(points.grid.x.empty() ? HeadSeries::kNoGrid
                                            : find_grid(checkpoint, points.grid));
    to.value.insert(to.value.end(), points.value.begin(), points.value.end());
    to.se.insert(to.se.end(), points.se.begin(), points.se.end());
    to.begin.push_back(to.value.size());
  }

  const RunTable& table_;
  SeriesTable kind_;
  const CsvHeader& header_;
  size_t checkpoint_ = 0, layer_ = 0, q_head_ = 0, name_ = 0, x_ = 0;
  std::optional<size_t> end_, mean_;
  std::vector<std::optional<size_t>> values_, errors_;  // by series
  std::vector<Key> order_;
  std::map<Key, Head> heads_;
};

}  // namespace

void parse_series_table(RunTable& heads, SeriesTable table, std::string_view text,
                        const std::string& source) {
  CsvTable records(text, source);
  SeriesCollector gatherer(heads, table, records.header());
  while (const auto record = records.next()) gatherer.add(*record);
  gatherer.give(heads);
}

void read_series_table(RunTable& heads, SeriesTable table, const std::filesystem::path& path) {
  parse_series_table(heads, table, MappedFile(path).text(), path.string());
}

}  // namespace ropewalk
