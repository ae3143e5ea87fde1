#include "ropewalk/study/show/report_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/packed_numbers.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// no number of a table is infinite
constexpr double kNoRow = std::numeric_limits<double>::infinity();
constexpr size_t kMostCells = size_t{1} << 24;

using Checkpoint = CheckpointTable;

// The losses over all positions, and of the bins; null: not measured.
Json losses(const Checkpoint& checkpoint) {
  if (checkpoint.loss.empty()) return {};
  const auto number = [](double value) { return std::isnan(value) ? Json() : Json(value); };
  Json bins = Json::array();
  for (const LossRow& row : checkpoint.loss) {
    if (row.end == 0) continue;
    bins.push_back({{"from", row.begin},
                    {"to", row.end},
                    {"value", number(row.loss)},
                    {"se", number(row.se)}});
  }
  const LossRow& all = checkpoint.loss.front();
  return {{"value", number(all.loss)}, {"se", number(all.se)}, {"bins", bins}};
}

Json or_null(int64_t count) { return count == Checkpoint::kUnknown ? Json() : Json(count); }

// The row of each (checkpoint, head, component).
class TableIndex {
 public:
  explicit TableIndex(const RunTable& table) : table_(table) {
    const auto indexes = head_indexes(table);
    std::set<int64_t> components;
    for (const Checkpoint& checkpoint : table.checkpoints) {
      for (size_t row = 0; row < checkpoint.rows(); ++row) {
        const std::pair key(checkpoint.layer[row], checkpoint.q_head[row]);
        const auto [found, fresh] = heads_.emplace(
            key, Head{indexes.at(key), checkpoint.kv_head[row], checkpoint.rope[row]});
        // Independent models may differ in these.
        if (found->second.kv_head != checkpoint.kv_head[row]) {
          found->second.kv_head = Checkpoint::kUnknown;
        }
        if (found->second.rope != checkpoint.rope[row]) found->second.rope = Checkpoint::kUnknown;
        components.insert(checkpoint.pc[row]);
      }
    }
    size_t index = 0;
    for (const int64_t pc : components) components_.emplace(pc, index++);
    const size_t cells = table.checkpoints.size() * heads_.size();
    if (cells > kMostCells / std::max<size_t>(components_.size(), 1)) {
      throw InputError(
          "{}: {} checkpoints, {} heads and {} components are too many for one page; at most {} "
          "numbers per column",
          table.source, table.checkpoints.size(), heads_.size(), components_.size(), kMostCells);
    }
  }

  Json components() const {
    Json list = Json::array();
    for (const auto& [pc, index] : components_) list.push_back(pc);
    return list;
  }

  Json heads() const {
    Json layer = Json::array(), q_head = Json::array(), kv_head = Json::array(),
         rope = Json::array();
    for (const auto& [key, head] : heads_) {
      layer.push_back(key.first);
      q_head.push_back(key.second);
      kv_head.push_back(or_null(head.kv_head));
      rope.push_back(or_null(head.rope));
    }
    return {{"layer", layer}, {"q_head", q_head}, {"kv_head", kv_head}, {"rope", rope}};
  }

  // A column of the cube of numbers.
  std::vector<double> column(size_t index, std::vector<double> HeadColumn::*part) const {
    std::vector<double> values(table_.checkpoints.size() * heads_.size() * components_.size(),
                               kNoRow);
    each([&](const Checkpoint& checkpoint, size_t row, size_t head, size_t component) {
      values[head * components_.size() + component] = (checkpoint.columns[index].*part)[row];
    });
    return values;
  }

  // A number per head, from the head's first row.
  std::vector<double> head_column(size_t index, std::vector<double> HeadColumn::*part) const {
    std::vector<double> values(table_.checkpoints.size() * heads_.size(), kMissing);
    each([&](const Checkpoint& checkpoint, size_t row, size_t head, size_t) {
      if (std::isnan(values[head])) values[head] = (checkpoint.columns[index].*part)[row];
    });
    return values;
  }

  Json counts(std::vector<int64_t> Checkpoint::*member) const {
    std::vector<Json> values(table_.checkpoints.size() * heads_.size());
    each([&](const Checkpoint& checkpoint, size_t row, size_t head, size_t) {
      if (values[head].is_null()) values[head] = or_null((checkpoint.*member)[row]);
    });
    return values;
  }

  Json flags() const {
    return runs(components_.size(),
                [&](const Checkpoint& checkpoint, size_t row, size_t component) {
                  return std::pair(component, checkpoint.flag[row]);
                });
  }

  // Flags of heads.csv, one cell per checkpoint and head; null: the file was not read.
  Json head_flags() const {
    const auto& all = table_.checkpoints;
    const bool known =
        std::any_of(all.begin(), all.end(), [](const auto& one) { return !one.head_flag.empty(); });
    if (!known) return {};
    return runs(1, [](const Checkpoint& checkpoint, size_t row, size_t) {
      return std::pair(size_t{0}, checkpoint.head_flag.empty() ? "" : checkpoint.head_flag[row]);
    });
  }

 private:
  struct Head {
    size_t index = 0;
    int64_t kv_head = Checkpoint::kUnknown;  // from the head's first row
    int64_t rope = Checkpoint::kUnknown;
  };

  // Texts of cells, `width` per checkpoint and head, run-length encoded: code, length, code,
  // length, …
  template <typename Text>
  Json runs(size_t width, const Text& text) const {
    std::map<std::string, size_t> codes{{"", 0}};
    std::vector<std::string> names{""};
    std::vector<size_t> cells(table_.checkpoints.size() * heads_.size() * width, 0);
    each([&](const Checkpoint& checkpoint, size_t row, size_t head, size_t component) {
      const auto [index, name] = text(checkpoint, row, component);
      const auto [found, added] = codes.emplace(name, names.size());
      if (added) names.push_back(name);
      cells[head * width + index] = found->second;
    });
    Json list = Json::array();
    for (size_t begin = 0; begin < cells.size();) {
      const auto end = std::find_if(cells.begin() + static_cast<std::ptrdiff_t>(begin), cells.end(),
                                    [&](size_t code) { return code != cells[begin]; });
      const auto stop = static_cast<size_t>(end - cells.begin());
      list.push_back(cells[begin]);
      list.push_back(stop - begin);
      begin = stop;
    }
    return {{"names", names}, {"runs", list}};
  }

  template <typename Visit>
  void each(const Visit& visit) const {
    for (size_t c = 0; c < table_.checkpoints.size(); ++c) {
      const Checkpoint& checkpoint = table_.checkpoints[c];
      for (size_t row = 0; row < checkpoint.rows(); ++row) {
        const size_t head = heads_.at({checkpoint.layer[row], checkpoint.q_head[row]}).index;
        visit(checkpoint, row, c * heads_.size() + head, components_.at(checkpoint.pc[row]));
      }
    }
  }

  const RunTable& table_;
  std::map<std::pair<int64_t, int64_t>, Head> heads_;  // by layer, then head
  std::map<int64_t, size_t> components_;
};

bool any(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

std::map<std::pair<int64_t, int64_t>, size_t> head_indexes(const RunTable& table) {
  std::map<std::pair<int64_t, int64_t>, size_t> indexes;
  for (const Checkpoint& checkpoint : table.checkpoints) {
    for (size_t row = 0; row < checkpoint.rows(); ++row) {
      indexes[{checkpoint.layer[row], checkpoint.q_head[row]}] = 0;
    }
  }
  size_t index = 0;
  for (auto& [head, where] : indexes) where = index++;
  return indexes;
}

Json report_table(const RunTable& table) {
  Json checkpoints = Json::array();
  for (const Checkpoint& checkpoint : table.checkpoints) {
    checkpoints.push_back({{"label", checkpoint.label},
                           {"phase", checkpoint.phase},
                           {"model", checkpoint.model},
                           {"order", checkpoint.order},
                           {"training_step", or_null(checkpoint.step)},
                           {"tokens", or_null(checkpoint.tokens)},
                           {"baseline", checkpoint.random},
                           {"loss", losses(checkpoint)}});
  }
  const TableIndex cube(table);
  Json columns = Json::object(), head_columns = Json::object();
  for (size_t index = 0; index < statistics().size(); ++index) {
    const Statistic& statistic = *statistics()[index];
    const auto add = [&](const std::string& name, std::vector<double> HeadColumn::*part) {
      const bool per_head = statistic.per == Granularity::head;
      const bool error = part == &HeadColumn::se;
      const std::vector<double> values =
          per_head ? cube.head_column(index, part) : cube.column(index, part);
      if (!any(values) && (error || !statistic.required)) return;
      (per_head ? head_columns : columns)[name] =
          statistic.table == Table::heads
              ? pack_floats(values, error ? FloatKind::bfloat16 : FloatKind::float32)
              : pack_numbers(values);
    };
    add(statistic.key, &HeadColumn::value);
    if (statistic.error) add(error_column(statistic.key), &HeadColumn::se);
  }
  Json json{{"checkpoints", checkpoints},
            {"components", cube.components()},
            {"heads", cube.heads()},
            {"columns", columns},
            {"head_columns", head_columns},
            {"counts",
             {{"n_q", cube.counts(&Checkpoint::n_q)},
              {"n_k", cube.counts(&Checkpoint::n_k)},
              {"n_blocks", cube.counts(&Checkpoint::n_blocks)}}},
            {"flags", cube.flags()}};
  if (Json flags = cube.head_flags(); !flags.is_null()) json["head_flags"] = std::move(flags);
  return json;
}

}  // namespace ropewalk
