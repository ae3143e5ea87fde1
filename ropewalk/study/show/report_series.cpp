#include "ropewalk/study/show/report_series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/packed_numbers.h"
#include "ropewalk/study/show/report_table.h"

namespace ropewalk {
namespace {

constexpr int64_t kNoRow = -1;
// the same numbers as in the cell before, because query heads share keys
constexpr int64_t kAsBefore = -2;
// Base64 of the three bytes of a number and the two of its error.
constexpr size_t kCharactersPerThree = 20;

const char* file_of(const SeriesStatistic& one) {
  return one.table == SeriesTable::bands ? "bands" : "curves";
}

// The name of a series' axis on the page.
const char* axis_of(const SeriesStatistic& one) {
  if (one.table == SeriesTable::bands) return "wavelength";
  if (one.key == "attended") return "attention";
  if (one.key == "induction_far") return "copies";
  return one.key.starts_with("dist_") ? "distance" : "position";
}

bool same(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  });
}

// The points that heads have; each set is stored once for the whole page.
class GridList {
 public:
  int64_t find(const SeriesGrid& points) {
    const auto found = std::find(list_.begin(), list_.end(), points);
    if (found != list_.end()) return found - list_.begin();
    list_.push_back(points);
    return static_cast<int64_t>(list_.size()) - 1;
  }
  // One of the numbers of all grids; null where a grid has none of them.
  Json list(std::vector<double> SeriesGrid::*numbers) const {
    Json all = Json::array();
    for (const SeriesGrid& grid : list_) {
      all.push_back((grid.*numbers).empty() ? Json() : Json(grid.*numbers));
    }
    return all;
  }

 private:
  std::vector<SeriesGrid> list_;
};

// One series of all checkpoints and heads.
struct Column {
  std::vector<int64_t> runs;  // code, length, code, length, …
  std::vector<double> value, se;

  void add(int64_t code) {
    if (!runs.empty() && runs[runs.size() - 2] == code) {
      ++runs.back();
    } else {
      runs.insert(runs.end(), {code, 1});
    }
  }
  bool any() const {
    return std::any_of(value.begin(), value.end(), [](double v) { return std::isfinite(v); });
  }
};

Column gather(const RunTable& table, size_t index, GridList& grids) {
  const auto indexes = head_indexes(table);
  Column column;
  for (const CheckpointTable& checkpoint : table.checkpoints) {
    const std::vector<size_t> rows = checkpoint.head_rows();
    std::vector<size_t> heads(indexes.size(), rows.size());  // per row of the page: the head
    for (size_t i = 0; i < rows.size(); ++i) {
      heads[indexes.at({checkpoint.layer[rows[i]], checkpoint.q_head[rows[i]]})] = i;
    }
    const SeriesGrid* points_before = nullptr;
    std::span<const double> value_before, se_before;
    for (const size_t head : heads) {
      const SeriesGrid& points = series_points(checkpoint, index, head);
      if (points.x.empty()) {
        column.add(kNoRow);
        points_before = nullptr;
        continue;
      }
      const auto value = checkpoint.series[index].values(head);
      const auto se = checkpoint.series[index].errors(head);
      const bool grid = points_before != nullptr && points == *points_before;
      if (grid && same(value, value_before) && same(se, se_before)) {
        column.add(kAsBefore);
        continue;
      }
      column.add(grids.find(points));
      column.value.insert(column.value.end(), value.begin(), value.end());
      column.se.insert(column.se.end(), se.begin(), se.end());
      points_before = &points, value_before = value, se_before = se;
    }
  }
  return column;
}

// The texts of edges, each with a number.
class TextPool {
 public:
  size_t find(const std::string& text) {
    const auto [found, added] = indexes_.try_emplace(text, list_.size());
    if (added) {
      list_.push_back(text);
      characters_ += text.size();
    }
    return found->second;
  }
  size_t characters() const { return characters_; }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::map<std::string, size_t> indexes_;
  std::vector<std::string> list_;
  size_t characters_ = 0;
};

// [document, t, key, p, id, id, texts of query: before, itself, after, and of key]
Json packed_edge(const EdgeRow& edge, TextPool& texts) {
  Json packed{edge.document, edge.query.position, edge.key.position,
              edge.p,        edge.query.id,       edge.key.id};
  for (const EdgeToken* token : {&edge.query, &edge.key}) {
    for (const std::string* text : {&token->before, &token->text, &token->after}) {
      packed.push_back(texts.find(*text));
    }
  }
  return packed;
}

}  // namespace

Json report_edges(const RunTable& table, size_t most) {
  constexpr size_t kCharacters = 60;  // of an edge, without its texts
  const auto indexes = head_indexes(table);
  TextPool texts;
  Json list = Json::array();
  size_t edges = 0, left_out = 0;
  for (size_t i = table.checkpoints.size(); i-- > 0;) {
    const CheckpointTable& checkpoint = table.checkpoints[i];
    if (checkpoint.edges.empty()) continue;
    if (edges > 0 && edges * kCharacters + texts.characters() > most) {
      ++left_out;
      continue;
    }
    std::map<int64_t, Json> of_heads;
    for (const EdgeRow& edge : checkpoint.edges) {
      const auto index = indexes.find({edge.layer, edge.q_head});
      if (index == indexes.end()) continue;  // of a file that somebody changed
      of_heads[static_cast<int64_t>(index->second)].push_back(packed_edge(edge, texts));
      ++edges;
    }
    for (const auto& [head, rows] : of_heads) list.push_back({i, head, rows});
  }
  return {{"texts", texts.list()}, {"heads", list}, {"left_out", left_out}};
}

Json report_series(const RunTable& table, size_t most) {
  GridList grids;
  std::map<size_t, Column> columns;
  std::map<std::string, size_t> sizes;  // sizes of the files, in characters
  for (size_t index = 0; index < series().size(); ++index) {
    Column column = gather(table, index, grids);
    if (!column.any()) continue;
    sizes[file_of(*series()[index])] += column.value.size() * kCharactersPerThree / 3;
    columns.emplace(index, std::move(column));
  }
  Json list = Json::array(), packed = Json::object(), left_out = Json::object();
  for (const auto& [file, size] : sizes) {
    if (size > most) left_out[file] = size;
  }
  for (const auto& [index, column] : columns) {
    const SeriesStatistic& one = *series()[index];
    if (left_out.contains(file_of(one))) continue;
    list.push_back({{"key", one.key},
                    {"title", one.title},
                    {"definition", one.definition},
                    {"table", file_of(one)},
                    {"axis", axis_of(one)},
                    {"hue", hue_name(one.hue)},
                    {"low", limit_or_null(one.low)},
                    {"high", limit_or_null(one.high)}});
    packed[one.key] = {{"cells", column.runs},
                       {"value", pack_floats(column.value, FloatKind::float24)},
                       {"se", pack_floats(column.se, FloatKind::bfloat16)}};
  }
  return {{"statistics", list},
          {"grids", grids.list(&SeriesGrid::x)},
          {"grid_ends", grids.list(&SeriesGrid::end)},
          {"grid_means", grids.list(&SeriesGrid::mean)},
          {"columns", packed},
          {"left_out", left_out}};
}

}  // namespace ropewalk
