#include "ropewalk/analysis/table/heads_reader.h"

#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kNeeded = "checkpoint, layer, q_head";

// The rows of a head in the table, and the line of the file with its numbers; 0: not seen yet.
struct HeadRows {
  size_t checkpoint = 0;
  std::vector<size_t> rows;
  int64_t line = 0;
};

class HeadsReader {
 public:
  HeadsReader(RunTable& table, const CsvHeader& header) : table_(table), header_(header) {
    checkpoint_ = header.require("checkpoint", "", kNeeded);
    layer_ = header.require("layer", "", kNeeded);
    q_head_ = header.require("q_head", "", kNeeded);
    flag_ = header.find("flag");
    for (const Statistic* statistic : statistics()) {
      const bool here = statistic->table == Table::heads;
      values_.push_back(here ? header.find(statistic->key) : std::nullopt);
      errors_.push_back(here && statistic->error ? header.find(error_column(statistic->key))
                                                 : std::nullopt);
    }
    for (size_t i = 0; i < table.checkpoints.size(); ++i) {
      CheckpointTable& checkpoint = table.checkpoints[i];
      checkpoint.head_flag.assign(checkpoint.rows(), "");
      for (size_t row = 0; row < checkpoint.rows(); ++row) {
        HeadRows& head = heads_[{checkpoint.label, checkpoint.layer[row], checkpoint.q_head[row]}];
        head.checkpoint = i;
        head.rows.push_back(row);
      }
    }
  }

  void add(const CsvRecord& record) {
    const std::string label = record.name(checkpoint_);
    const int64_t layer = record.index(layer_), q_head = record.index(q_head_);
    const auto found = heads_.find({label, layer, q_head});
    if (found == heads_.end()) {
      throw InputError(
          "{}, line {}: checkpoint '{}', layer {}, head {} is not in {}; it belongs to another "
          "table",
          header_.source(), record.line(), printable_excerpt(label, 60), layer, q_head,
          table_.source);
    }
    HeadRows& head = found->second;
    if (head.line != 0) {
      throw InputError(
          "{}, line {}: checkpoint '{}', layer {}, head {} is already in line {}; expected one row "
          "for each head",
          header_.source(), record.line(), printable_excerpt(label, 60), layer, q_head, head.line);
    }
    head.line = record.line();
    CheckpointTable& checkpoint = table_.checkpoints[head.checkpoint];
    constexpr double kMost = std::numeric_limits<double>::max();
    for (size_t i = 0; i < values_.size(); ++i) {
      const Statistic& statistic = *statistics()[i];
      HeadColumn& column = checkpoint.columns[i];
      if (values_[i]) fill(column.value, head, record, *values_[i], statistic.low, statistic.high);
      if (errors_[i]) fill(column.se, head, record, *errors_[i], 0, kMost);
    }
    if (!flag_) return;
    for (const size_t row : head.rows) checkpoint.head_flag[row] = record.optional_name(*flag_);
  }

 private:
  static void fill(std::vector<double>& values, const HeadRows& head, const CsvRecord& record,
                   size_t column, double low, double high) {
    const double number = record.number(column, low, high);
    for (const size_t row : head.rows) values[row] = number;
  }

  RunTable& table_;
  const CsvHeader& header_;
  size_t checkpoint_ = 0, layer_ = 0, q_head_ = 0;
  std::optional<size_t> flag_;
  std::vector<std::optional<size_t>> values_, errors_;  // per statistic
  std::map<std::tuple<std::string, int64_t, int64_t>, HeadRows> heads_;
};

}  // namespace

void parse_heads_table(RunTable& table, std::string_view text, const std::string& source) {
  CsvTable records(text, source);
  RunTable filled = table;
  HeadsReader filler(filled, records.header());
  bool any = false;
  for (; const auto record = records.next(); any = true) filler.add(*record);
  if (!any) {
    throw InputError("{}: has column names but no rows; expected one row per checkpoint and head",
                     source);
  }
  table = std::move(filled);
}

void read_heads_table(RunTable& table, const std::filesystem::path& path) {
  parse_heads_table(table, MappedFile(path).text(), path.string());
}

}  // namespace ropewalk
