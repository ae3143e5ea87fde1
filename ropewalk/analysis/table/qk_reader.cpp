#include "ropewalk/analysis/table/qk_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

using Checkpoint = CheckpointTable;

std::string needed_columns() {
  std::string text = "checkpoint (or model), layer, q_head (or head), pc";
  for (const Statistic* statistic : statistics()) {
    if (statistic->required) text += ", " + statistic->key;
  }
  return text;
}

// The indexes of a table's columns.
struct ColumnIndexes {
  explicit ColumnIndexes(const CsvHeader& header) {
    const std::string needed = needed_columns();
    checkpoint = header.require("checkpoint", "model", needed);
    layer = header.require("layer", "", needed);
    q_head = header.require("q_head", "head", needed);
    pc = header.require("pc", "", needed);
    model = header.find("model");
    phase = header.find("phase");
    order = header.find("order");
    step = header.find("step");
    tokens = header.find("tokens");
    rope = header.find("rope");
    flag = header.find("flag");
    for (const auto& [name, member] :
         {std::pair("kv_head", &Checkpoint::kv_head), std::pair("n_q", &Checkpoint::n_q),
          std::pair("n_k", &Checkpoint::n_k), std::pair("n_blocks", &Checkpoint::n_blocks)}) {
      counts.emplace_back(header.find(name), member);
    }
    for (const Statistic* statistic : statistics()) {
      if (statistic->table != Table::components) {
        values.emplace_back();
        errors.emplace_back();
        continue;
      }
      values.push_back(statistic->required
                           ? std::optional(header.require(statistic->key, "", needed))
                           : header.find(statistic->key));
      errors.push_back(header.find(error_column(statistic->key)));
    }
  }

  size_t checkpoint, layer, q_head, pc;
  std::optional<size_t> model, phase, order, step, tokens, rope, flag;
  std::vector<std::pair<std::optional<size_t>, std::vector<int64_t> Checkpoint::*>> counts;
  std::vector<std::optional<size_t>> values, errors;  // per statistic
};

// Builds a table from its records: checks what a checkpoint's rows must agree on, and keeps the
// index of each row.
class TableBuilder {
 public:
  TableBuilder(const CsvHeader& header, std::string source) : columns_(header) {
    table_.source = std::move(source);
  }

  void add(const CsvRecord& record) {
    const std::string label = record.name(columns_.checkpoint);
    const size_t index = indexes_.emplace(label, indexes_.size()).first->second;
    if (index == table_.checkpoints.size()) begin(label, record);
    const Checkpoint& checkpoint = table_.checkpoints[index];
    if (columns_.phase && record.optional_name(*columns_.phase) != checkpoint.phase) {
      record.fail(*columns_.phase, fmt::format("'{}', as in earlier rows of {}",
                                               printable(checkpoint.phase), printable(label)));
    }
    if (columns_.order && record.order(*columns_.order) != orders_[index]) {
      record.fail(*columns_.order,
                  fmt::format("the same value as in earlier rows of {}", printable(label)));
    }
    for (const auto& [column, known] : {std::pair(columns_.step, checkpoint.step),
                                        std::pair(columns_.tokens, checkpoint.tokens)}) {
      if (column && record.count(*column, Checkpoint::kUnknown) != known) {
        record.fail(*column,
                    fmt::format("the same value as in earlier rows of {}", printable(label)));
      }
    }
    add_row(record, index);
  }

  RunTable finish() {
    std::vector<size_t> sequence(table_.checkpoints.size());
    std::iota(sequence.begin(), sequence.end(), size_t{0});
    const bool ordered =
        std::all_of(orders_.begin(), orders_.end(), [](const auto& order) { return order; });
    if (ordered) {
      std::stable_sort(sequence.begin(), sequence.end(),
                       [&](size_t a, size_t b) { return *orders_[a] < *orders_[b]; });
    }
    // For each model, the highest layer in the table is taken as its last one.
    std::map<std::string, int64_t> last_layers;
    for (const Checkpoint& checkpoint : table_.checkpoints) {
      int64_t& last = last_layers[checkpoint.model];
      for (const int64_t layer : checkpoint.layer) last = std::max(last, layer);
    }
    const bool independent_model =
        ordered && sequence.size() > 1 &&
        std::all_of(orders_.begin(), orders_.end(),
                    [&](const auto& order) { return order == orders_.front(); });
    std::vector<Checkpoint> sorted;
    for (const size_t index : sequence) {
      sorted.push_back(std::move(table_.checkpoints[index]));
      sorted.back().last_layer = last_layers[sorted.back().model];
      sorted.back().independent_model = independent_model;
      sorted.back().order = independent_model ? 0 : static_cast<int64_t>(sorted.size()) - 1;
    }
    table_.checkpoints = std::move(sorted);
    return std::move(table_);
  }

 private:
  void begin(const std::string& label, const CsvRecord& record) {
    Checkpoint checkpoint;
    checkpoint.label = label;
    if (columns_.model) checkpoint.model = record.optional_name(*columns_.model);
    if (columns_.phase) checkpoint.phase = record.optional_name(*columns_.phase);
    if (columns_.step) checkpoint.step = record.count(*columns_.step, Checkpoint::kUnknown);
    if (columns_.tokens) checkpoint.tokens = record.count(*columns_.tokens, Checkpoint::kUnknown);
    checkpoint.columns.resize(statistics().size());
    table_.checkpoints.push_back(std::move(checkpoint));
    orders_.push_back(columns_.order ? record.order(*columns_.order) : std::nullopt);
  }

  void add_row(const CsvRecord& record, size_t index) {
    Checkpoint& checkpoint = table_.checkpoints[index];
    const int64_t layer = record.index(columns_.layer);
    const int64_t q_head = record.index(columns_.q_head);
    const int64_t pc = record.index(columns_.pc);
    const auto [other, added] = lines_.emplace(std::tuple(index, layer, q_head, pc), record.line());
    if (!added) {
      throw InputError(
          "{}, line {}: checkpoint '{}', layer {}, head {}, pc {} is already in line {}; expected "
          "one row for each",
          table_.source, record.line(), printable(checkpoint.label), layer, q_head, pc,
          other->second);
    }
    checkpoint.layer.push_back(layer);
    checkpoint.q_head.push_back(q_head);
    checkpoint.pc.push_back(pc);
    for (const auto& [column, member] : columns_.counts) {
      (checkpoint.*member)
          .push_back(column ? record.count(*column, Checkpoint::kUnknown) : Checkpoint::kUnknown);
    }
    checkpoint.rope.push_back(columns_.rope ? record.yes_or_no(*columns_.rope, Checkpoint::kUnknown)
                                            : Checkpoint::kUnknown);
    checkpoint.flag.push_back(columns_.flag ? record.optional_name(*columns_.flag) : std::string());
    checkpoint.random = checkpoint.random || holds_flag(checkpoint.flag.back(), kRandomWeights);
    const auto number = [&](const std::optional<size_t>& column, double low, double high) {
      return column ? record.number(*column, low, high) : std::numeric_limits<double>::quiet_NaN();
    };
    for (size_t i = 0; i < statistics().size(); ++i) {
      const Statistic& statistic = *statistics()[i];
      checkpoint.columns[i].value.push_back(
          number(columns_.values[i], statistic.low, statistic.high));
      checkpoint.columns[i].se.push_back(
          number(columns_.errors[i], 0, std::numeric_limits<double>::max()));
    }
  }

  ColumnIndexes columns_;
  RunTable table_;
  std::map<std::string, size_t> indexes_;
  std::vector<std::optional<double>> orders_;
  std::map<std::tuple<size_t, int64_t, int64_t, int64_t>, int64_t> lines_;
};

}  // namespace

RunTable parse_qk_table(std::string_view text, const std::string& source) {
  CsvTable records(text, source);
  TableBuilder builder(records.header(), source);
  bool any = false;
  for (; const auto record = records.next(); any = true) builder.add(*record);
  if (!any) throw InputError("{}: has column names but no rows", source);
  return builder.finish();
}

RunTable read_qk_table(const std::filesystem::path& path) {
  return parse_qk_table(MappedFile(path).text(), path.string());
}

}  // namespace ropewalk
