#include "ropewalk/analysis/table/csv_record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

constexpr double kRounding = 1e-6;  // a rounded number may exceed its limits by this much
constexpr double kLargestIndex = 1e6;
constexpr double kLargestCount = 9e15;  // largest integer that a double holds exactly, rounded down
constexpr double kUnlimited = std::numeric_limits<double>::max();
constexpr size_t kExcerpt = 60;

std::string limits_text(double low, double high) {
  if (high < kUnlimited && low > -kUnlimited) {
    return fmt::format("a number from {} to {}, or nothing", low, high);
  }
  if (high < kUnlimited) return fmt::format("a number of at most {}, or nothing", high);
  if (low > -kUnlimited) return fmt::format("a number of at least {}, or nothing", low);
  return "a number, or nothing";
}

}  // namespace

CsvHeader::CsvHeader(std::vector<std::string> names, std::string source, int64_t line)
    : names_(std::move(names)), source_(std::move(source)), line_(line) {
  for (const std::string& name : names_) {
    if (std::count(names_.begin(), names_.end(), name) > 1) {
      throw InputError("{}, line {}: duplicate column '{}'", source_, line_,
                       printable_excerpt(name, kExcerpt));
    }
  }
}

std::optional<size_t> CsvHeader::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<size_t>(found - names_.begin());
}

size_t CsvHeader::require(std::string_view name, std::string_view stand_in,
                          const std::string& needed) const {
  if (const auto found = find(name)) return *found;
  if (!stand_in.empty()) {
    if (const auto found = find(stand_in)) return *found;
  }
  const std::string wanted =
      stand_in.empty() ? fmt::format("'{}'", name) : fmt::format("'{}' or '{}'", name, stand_in);
  const std::string found = printable_excerpt(fmt::format("{}", fmt::join(names_, ", ")), 300);
  throw InputError("{}, line {}: column {} is missing; found {}; needed are {}", source_, line_,
                   wanted, found, needed);
}

CsvRecord::CsvRecord(const CsvHeader& header, const std::vector<std::string>& fields, int64_t line)
    : header_(header), fields_(fields), line_(line) {
  if (fields.size() != header.size()) {
    throw InputError("{}, line {}: has {} fields; expected {}, as in the first line",
                     header.source(), line, fields.size(), header.size());
  }
}

std::string CsvRecord::optional_name(size_t column) const {
  if (fields_[column].size() > kLongestName) {
    fail(column, fmt::format("a name of at most {} bytes", kLongestName));
  }
  if (invalid_utf8_offset(fields_[column])) fail(column, "text in UTF-8");
  return unescape_name(fields_[column]);
}

std::string CsvRecord::name(size_t column) const {
  std::string found = optional_name(column);
  if (found.empty()) fail(column, "a name");
  return found;
}

int64_t CsvRecord::index(size_t column) const {
  const auto number = parse(column);
  // Integers may be written as 3.0: pandas does so where a column has missing values.
  if (!number || *number != std::floor(*number) || *number < 0 || *number > kLargestIndex) {
    fail(column, "a whole number from 0 to 1000000");
  }
  return static_cast<int64_t>(*number);
}

double CsvRecord::number(size_t column, double low, double high) const {
  if (missing(column)) return std::numeric_limits<double>::quiet_NaN();
  const auto number = parse(column);
  if (!number || *number < low - kRounding || *number > high + kRounding) {
    fail(column, limits_text(low, high));
  }
  return std::clamp(*number, low, high);
}

int64_t CsvRecord::count(size_t column, int64_t otherwise) const {
  if (missing(column)) return otherwise;
  const auto number = parse(column);
  if (!number || *number != std::floor(*number) || *number < 0 || *number > kLargestCount) {
    fail(column, "a whole number, or nothing");
  }
  return static_cast<int64_t>(*number);
}

std::optional<double> CsvRecord::order(size_t column) const {
  if (missing(column)) return std::nullopt;
  const auto number = parse(column);
  if (!number) fail(column, "a number");
  return number;
}

int64_t CsvRecord::yes_or_no(size_t column, int64_t otherwise) const {
  if (missing(column)) return otherwise;
  const std::string& field = fields_[column];
  if (field == "1" || field == "1.0" || field == "True" || field == "true") return 1;
  if (field == "0" || field == "0.0" || field == "False" || field == "false") return 0;
  fail(column, "1 or 0");
}

void CsvRecord::fail(size_t column, std::string_view expected) const {
  throw InputError("{}, line {}, column {}: found '{}'; expected {}", header_.source(), line_,
                   header_.name(column), printable_excerpt(fields_[column], kExcerpt), expected);
}

bool CsvRecord::missing(size_t column) const {
  const std::string lower = lower_case(fields_[column]);
  return lower.empty() || lower == "nan" || lower == "na";
}

std::optional<double> CsvRecord::parse(size_t column) const {
  const std::string& field = fields_[column];
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

CsvTable::CsvTable(std::string_view text, const std::string& source)
    : reader_(text, source), header_(read_header(source)) {}

CsvHeader CsvTable::read_header(const std::string& source) {
  if (!reader_.next(fields_)) {
    throw InputError("{}: is empty; expected a table with a line of column names", source);
  }
  return {fields_, source, reader_.line()};
}

std::optional<CsvRecord> CsvTable::next() {
  if (!reader_.next(fields_)) return std::nullopt;
  return CsvRecord(header_, fields_, reader_.line());
}

}  // namespace ropewalk
