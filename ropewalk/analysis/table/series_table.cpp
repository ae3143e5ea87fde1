#include "ropewalk/analysis/table/series_table.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kHeadColumns = 10;  // which head: the first columns of every table

// Columns after those that say which head, and before `flag`.
std::vector<std::pair<std::string, std::string>> own_columns(SeriesTable table) {
  if (table == SeriesTable::curves) {
    std::string curves;
    for (const SeriesStatistic* one : series()) {
      if (one->table != table) continue;
      curves += fmt::format("{}`{}`: {}", curves.empty() ? "" : "; ", one->key, one->definition);
    }
    return {
        {"curve", curves},
        {"x",
         "distance of the key from the query in tokens, where the window of the point begins, or "
         "the position that the curve names"},
        {"x_end", "the first distance past the window; empty for positions"},
        {"x_mean",
         "mean distance of the pairs of tokens in the window, where figures draw the point; empty "
         "for positions"},
        {"value", "the curve at `x`: logits, or what the curve says"},
        {"value_se", "standard error of `value` over documents"}};
  }
  std::vector<std::pair<std::string, std::string>> columns{
      {"pair", "rotary pair, from 0, the fastest first"},
      {"theta",
       "what the pair turns by per token, in radians; 0 on a NoPE layer, whose pairs are "
       "as if it turned"}};
  for (const SeriesStatistic* one : series()) {
    if (one->table != table) continue;
    columns.emplace_back(one->key, one->definition);
    columns.emplace_back(error_column(one->key),
                         fmt::format("standard error of `{}` over documents", one->key));
  }
  return columns;
}

std::vector<size_t> places_of(SeriesTable table) {
  std::vector<size_t> indexes;
  for (size_t i = 0; i < series().size(); ++i) {
    if (series()[i]->table == table) indexes.push_back(i);
  }
  return indexes;
}

std::string header(SeriesTable table) {
  std::string text;
  const std::vector<TableColumn> head = table_columns(Table::heads);
  for (size_t i = 0; i < kHeadColumns; ++i) text += head[i].name + ",";
  for (const auto& [name, meaning] : own_columns(table)) text += name + ",";
  return text + "flag\n";
}

// Rows of a checkpoint.
class SeriesWriter {
 public:
  explicit SeriesWriter(SeriesTable table) : table_(table), indexes_(places_of(table)) {}

  void add(const CheckpointTable& checkpoint) {
    if (checkpoint.series.empty()) return;
    const std::vector<size_t> heads = checkpoint.head_rows();
    for (size_t head = 0; head < heads.size(); ++head) {
      const size_t row = heads[head];
      const std::string id =
          fmt::format("{},{},{},{},{},{},{},{},{},{},", csv_name(checkpoint.model),
                      csv_name(checkpoint.label), csv_name(checkpoint.phase), checkpoint.order,
                      table_count(checkpoint.step), table_count(checkpoint.tokens),
                      table_count(checkpoint.layer[row]), table_count(checkpoint.q_head[row]),
                      table_count(checkpoint.kv_head[row]), table_count(checkpoint.rope[row]));
      const std::string flags =
          head < checkpoint.series_flag.size() ? checkpoint.series_flag[head] : "";
      if (table_ == SeriesTable::bands) {
        add_bands(checkpoint, head, id, flags);
      } else {
        add_curves(checkpoint, head, id, flags);
      }
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void add_bands(const CheckpointTable& checkpoint, size_t head, const std::string& id,
                 const std::string& flags) {
    const std::vector<double>& thetas = series_points(checkpoint, indexes_.front(), head).x;
    const bool sums = flags.find("no_pre_rope") == std::string::npos;
    for (size_t pair = 0; pair < thetas.size(); ++pair) {
      text_ += id;
      fmt::format_to(std::back_inserter(text_), "{},", pair);
      number(thetas[pair]);
      bool lacks = false, no_se = false;
      for (const size_t index : indexes_) {
        const double value = checkpoint.series[index].values(head)[pair];
        const double se = checkpoint.series[index].errors(head)[pair];
        number(value);
        number(se);
        lacks = lacks || std::isnan(value);
        no_se = no_se || (!std::isnan(value) && std::isnan(se));
      }
      end_row(lacks && sums ? "no_variance" : "", no_se, flags);
    }
  }

  void add_curves(const CheckpointTable& checkpoint, size_t head, const std::string& id,
                  const std::string& flags) {
    for (const size_t index : indexes_) {
      const SeriesGrid& points = series_points(checkpoint, index, head);
      for (size_t i = 0; i < points.x.size(); ++i) {
        const double value = checkpoint.series[index].values(head)[i];
        const double se = checkpoint.series[index].errors(head)[i];
        text_ += id;
        text_ += series()[index]->key;
        text_ += ',';
        number(points.x[i]);
        number(points.end.empty() ? kNone : points.end[i]);
        number(points.mean.empty() ? kNone : points.mean[i]);
        number(value);
        number(se);
        const bool none = std::isnan(value);
        end_row(none ? "no_pairs" : "", !none && std::isnan(se), flags);
      }
    }
  }

  void number(double value) {
    if (!std::isnan(value)) fmt::format_to(std::back_inserter(text_), kTableNumber, value);
    text_ += ',';
  }

  void end_row(const char* own, bool no_se, const std::string& flags) {
    std::string all = own;
    if (no_se) add_flag(all, "no_se");
    if (!flags.empty()) add_flag(all, flags);
    text_ += all;
    text_ += '\n';
  }

  SeriesTable table_;
  std::vector<size_t> indexes_;
  std::string text_;
};

}  // namespace

std::string format_series_table(const std::vector<CheckpointTable>& checkpoints,
                                SeriesTable table) {
  return write_parallel(header(table), checkpoints.size(), [&](size_t i) {
    SeriesWriter writer(table);
    writer.add(checkpoints[i]);
    return writer.take();
  });
}

std::string describe_series_columns(SeriesTable table) {
  std::string text = "| column | meaning |\n|---|---|\n";
  const auto add = [&](const std::string& name, const std::string& meaning) {
    text += fmt::format("| `{}` | {} |\n", name, meaning);
  };
  const std::vector<TableColumn> head = table_columns(Table::heads);
  for (size_t i = 0; i < kHeadColumns; ++i) add(head[i].name, head[i].meaning);
  for (const auto& [name, meaning] : own_columns(table)) add(name, meaning);
  add(head.back().name, head.back().meaning);
  return text;
}

}  // namespace ropewalk
