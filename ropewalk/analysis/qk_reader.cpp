#include "ropewalk/analysis/qk_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "ropewalk/analysis/qk_table.h"
#include "ropewalk/base/csv.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 1e-6;  // how far past its limits a rounded number may lie
constexpr double kLargestIndex = 1e6;
constexpr double kLargestCount = 9e15;  // whole numbers that a double holds exactly
constexpr double kUnlimited = std::numeric_limits<double>::max();
constexpr size_t kExcerpt = 60;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return printable_excerpt(text, 300);
}

// Where each column stands, by name.
class Header {
 public:
  Header(std::vector<std::string> names, const std::string& source, int64_t line)
      : names_(std::move(names)), source_(source), line_(line) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (std::count(names_.begin(), names_.end(), names_[i]) > 1) {
        throw InputError("{}, line {}: column '{}' stands there twice", source_, line_,
                         printable_excerpt(names_[i], kExcerpt));
      }
    }
  }

  size_t size() const { return names_.size(); }

  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<size_t>(found - names_.begin());
  }

  size_t require(std::string_view name, std::string_view stand_in = "") const {
    if (const auto found = find(name)) return *found;
    if (!stand_in.empty()) {
      if (const auto found = find(stand_in)) return *found;
    }
    const std::string wanted =
        stand_in.empty() ? fmt::format("'{}'", name) : fmt::format("'{}' or '{}'", name, stand_in);
    throw InputError(
        "{}, line {}: lacks a column {}; found {}; needed are checkpoint (or model), layer, q_head "
        "(or head), pc, r_q, r_k",
        source_, line_, wanted, joined(names_));
  }

  const std::string& name(size_t column) const { return names_[column]; }

 private:
  std::vector<std::string> names_;
  std::string source_;
  int64_t line_;
};

// One record with what is needed to complain about it.
class Record {
 public:
  Record(const Header& header, const std::vector<std::string>& fields, const std::string& source,
         int64_t line)
      : header_(header), fields_(fields), source_(source), line_(line) {
    if (fields.size() != header.size()) {
      throw InputError("{}, line {}: has {} fields; expected {}, as in the first line", source,
                       line, fields.size(), header.size());
    }
  }

  std::string text(size_t column) const {
    if (invalid_utf8_offset(fields_[column])) fail(column, "text in UTF-8");
    return fields_[column];
  }

  // A name, or nothing.
  std::string optional_name(size_t column) const {
    if (fields_[column].size() > kLongestName) {
      fail(column, fmt::format("a name of at most {} bytes", kLongestName));
    }
    return unguard_name(text(column));
  }

  std::string name(size_t column) const {
    std::string found = optional_name(column);
    if (found.empty()) fail(column, "a name");
    return found;
  }

  int64_t index(size_t column) const {
    const auto number = parse(column);
    // Whole numbers may be written as 3.0, as pandas does where a column has holes.
    if (!number || *number != std::floor(*number) || *number < 0 || *number > kLargestIndex) {
      fail(column, "a whole number from 0 to 1000000");
    }
    return static_cast<int64_t>(*number);
  }

  // Within [low, high]; NaN where empty.
  double number(size_t column, double low, double high) const {
    if (missing(column)) return kMissing;
    const auto number = parse(column);
    if (!number || *number < low - kRounding || *number > high + kRounding) {
      fail(column, fmt::format("a number from {} to {}, or nothing", low, high));
    }
    return std::clamp(*number, low, high);
  }

  std::optional<int64_t> count(size_t column) const {
    if (missing(column)) return std::nullopt;
    const auto number = parse(column);
    if (!number || *number != std::floor(*number) || *number < 0 || *number > kLargestCount) {
      fail(column, "a whole number, or nothing");
    }
    return static_cast<int64_t>(*number);
  }

  std::optional<double> order(size_t column) const {
    if (missing(column)) return std::nullopt;
    const auto number = parse(column);
    if (!number) fail(column, "a number");
    return number;
  }

  std::optional<bool> yes_or_no(size_t column) const {
    if (missing(column)) return std::nullopt;
    const std::string& field = fields_[column];
    if (field == "1" || field == "1.0" || field == "True" || field == "true") return true;
    if (field == "0" || field == "0.0" || field == "False" || field == "false") return false;
    fail(column, "1 or 0");
  }

  [[noreturn]] void fail(size_t column, std::string_view expected) const {
    throw InputError("{}, line {}, column {}: found '{}'; expected {}", source_, line_,
                     header_.name(column), printable_excerpt(fields_[column], kExcerpt), expected);
  }

  int64_t line() const { return line_; }

 private:
  bool missing(size_t column) const {
    std::string lower = fields_[column];
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower.empty() || lower == "nan" || lower == "na";
  }

  std::optional<double> parse(size_t column) const {
    const std::string& field = fields_[column];
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
      return std::nullopt;
    }
    return value;
  }

  const Header& header_;
  const std::vector<std::string>& fields_;
  const std::string& source_;
  int64_t line_;
};

bool holds_flag(std::string_view flags, std::string_view wanted) {
  while (true) {
    const size_t end = flags.find(';');
    if (flags.substr(0, end) == wanted) return true;
    if (end == std::string_view::npos) return false;
    flags.remove_prefix(end + 1);
  }
}

struct Columns {
  explicit Columns(const Header& header)
      : checkpoint(header.require("checkpoint", "model")),
        layer(header.require("layer")),
        q_head(header.require("q_head", "head")),
        pc(header.require("pc")),
        r_q(header.require("r_q")),
        r_k(header.require("r_k")),
        model(header.find("model")),
        phase(header.find("phase")),
        order(header.find("order")),
        rope(header.find("rope")),
        explained_variance(header.find("explained_variance")),
        flag(header.find("flag")),
        kv_head(header.find("kv_head")),
        r_q_se(header.find("r_q_se")),
        r_k_se(header.find("r_k_se")),
        explained_variance_se(header.find("explained_variance_se")),
        pc0_stability(header.find("pc0_stability")),
        n_q(header.find("n_q")),
        n_k(header.find("n_k")),
        n_blocks(header.find("n_blocks")) {}

  size_t checkpoint, layer, q_head, pc, r_q, r_k;
  std::optional<size_t> model, phase, order, rope, explained_variance, flag, kv_head, r_q_se,
      r_k_se, explained_variance_se, pc0_stability, n_q, n_k, n_blocks;
};

// A table being read: what a checkpoint's rows must agree on, and where each row stands.
class TableBuilder {
 public:
  TableBuilder(const Header& header, std::string source) : columns_(header) {
    table_.source = std::move(source);
  }

  void add(const Record& record) {
    const std::string label = record.name(columns_.checkpoint);
    const size_t place = places_.emplace(label, places_.size()).first->second;
    if (place == table_.checkpoints.size()) begin(label, record);
    QkCheckpoint& checkpoint = table_.checkpoints[place];
    if (columns_.phase && record.optional_name(*columns_.phase) != checkpoint.phase) {
      record.fail(*columns_.phase, fmt::format("'{}', as in the rows of {} before",
                                               printable(checkpoint.phase), printable(label)));
    }
    if (columns_.order && record.order(*columns_.order) != orders_[place]) {
      record.fail(*columns_.order,
                  fmt::format("the same as in the rows of {} before", printable(label)));
    }
    if (columns_.flag && holds_flag(record.optional_name(*columns_.flag), kRandomWeights)) {
      checkpoint.baseline = true;
    }
    add_row(record, place);
  }

  QkTable finish() {
    std::vector<size_t> sequence(table_.checkpoints.size());
    std::iota(sequence.begin(), sequence.end(), size_t{0});
    const bool ordered =
        std::all_of(orders_.begin(), orders_.end(), [](const auto& order) { return order; });
    if (ordered) {
      std::stable_sort(sequence.begin(), sequence.end(),
                       [&](size_t a, size_t b) { return *orders_[a] < *orders_[b]; });
    }
    std::vector<QkCheckpoint> sorted;
    for (const size_t place : sequence) sorted.push_back(std::move(table_.checkpoints[place]));
    table_.checkpoints = std::move(sorted);
    return std::move(table_);
  }

 private:
  void begin(const std::string& label, const Record& record) {
    QkCheckpoint checkpoint;
    checkpoint.label = label;
    if (columns_.model) checkpoint.model = record.optional_name(*columns_.model);
    if (columns_.phase) checkpoint.phase = record.optional_name(*columns_.phase);
    table_.checkpoints.push_back(std::move(checkpoint));
    orders_.push_back(columns_.order ? record.order(*columns_.order) : std::nullopt);
  }

  void add_row(const Record& record, size_t place) {
    QkRow row;
    row.layer = record.index(columns_.layer);
    row.q_head = record.index(columns_.q_head);
    row.pc = record.index(columns_.pc);
    row.r_q = record.number(columns_.r_q, -1, 1);
    row.r_k = record.number(columns_.r_k, -1, 1);
    const auto number = [&](const std::optional<size_t>& column, double high) {
      return column ? record.number(*column, 0, high) : kMissing;
    };
    const auto count = [&](const std::optional<size_t>& column) {
      return column ? record.count(*column) : std::nullopt;
    };
    row.explained_variance = number(columns_.explained_variance, 1);
    if (columns_.rope) row.rope = record.yes_or_no(*columns_.rope);
    row.kv_head = count(columns_.kv_head);
    row.r_q_se = number(columns_.r_q_se, kUnlimited);
    row.r_k_se = number(columns_.r_k_se, kUnlimited);
    row.explained_variance_se = number(columns_.explained_variance_se, kUnlimited);
    row.pc0_stability = number(columns_.pc0_stability, 1);
    row.n_q = count(columns_.n_q);
    row.n_k = count(columns_.n_k);
    row.n_blocks = count(columns_.n_blocks);
    if (columns_.flag) row.flag = record.optional_name(*columns_.flag);
    const auto [other, added] =
        lines_.emplace(std::tuple(place, row.layer, row.q_head, row.pc), record.line());
    if (!added) {
      throw InputError(
          "{}, line {}: checkpoint '{}', layer {}, head {}, pc {} stood in line {} already; "
          "expected one row each",
          table_.source, record.line(), printable(table_.checkpoints[place].label), row.layer,
          row.q_head, row.pc, other->second);
    }
    table_.checkpoints[place].rows.push_back(row);
  }

  Columns columns_;
  QkTable table_;
  std::map<std::string, size_t> places_;
  std::vector<std::optional<double>> orders_;
  std::map<std::tuple<size_t, int64_t, int64_t, int64_t>, int64_t> lines_;
};

}  // namespace

QkTable parse_qk_table(std::string_view text, const std::string& source) {
  CsvReader reader(text, source);
  std::vector<std::string> fields;
  if (!reader.next(fields)) {
    throw InputError("{}: is empty; expected a table with a line of column names", source);
  }
  const Header header(fields, source, reader.line());
  TableBuilder builder(header, source);
  bool any = false;
  while (reader.next(fields)) {
    builder.add(Record(header, fields, source, reader.line()));
    any = true;
  }
  if (!any) throw InputError("{}: has column names but no rows", source);
  return builder.finish();
}

QkTable read_qk_table(const std::filesystem::path& path) {
  return parse_qk_table(MappedFile(path).text(), path.string());
}

}  // namespace ropewalk
