#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/csv.h"

namespace ropewalk {

// The index of each column of a CSV file, by name.
class CsvHeader {
 public:
  // Throws InputError where a name is repeated.
  CsvHeader(std::vector<std::string> names, std::string source, int64_t line);

  size_t size() const { return names_.size(); }
  const std::string& name(size_t column) const { return names_[column]; }
  const std::string& source() const { return source_; }

  std::optional<size_t> find(std::string_view name) const;
  // The index of the column `name`, or else of `stand_in`; InputError where neither exists, with
  // the list of columns that are `needed`.
  size_t require(std::string_view name, std::string_view stand_in, const std::string& needed) const;

 private:
  std::vector<std::string> names_;
  std::string source_;
  int64_t line_;
};

// One record. Every getter throws InputError naming file, line, column, what was found and what was
// expected. Empty fields, "nan" and "NA" are missing values.
class CsvRecord {
 public:
  // Throws InputError where the number of fields differs from the number of names.
  CsvRecord(const CsvHeader& header, const std::vector<std::string>& fields, int64_t line);

  // A name (qk_table.h); may be empty.
  std::string optional_name(size_t column) const;
  std::string name(size_t column) const;
  // An integer from 0 to a million.
  int64_t index(size_t column) const;
  // A number within [low, high]; NaN where missing.
  double number(size_t column, double low, double high) const;
  // An integer; `otherwise` where missing.
  int64_t count(size_t column, int64_t otherwise) const;
  std::optional<double> order(size_t column) const;
  // 1 or 0; `otherwise` where missing.
  int64_t yes_or_no(size_t column, int64_t otherwise) const;

  // The field as in the file.
  const std::string& text(size_t column) const { return fields_[column]; }

  [[noreturn]] void fail(size_t column, std::string_view expected) const;
  int64_t line() const { return line_; }

 private:
  bool missing(size_t column) const;
  std::optional<double> parse(size_t column) const;

  const CsvHeader& header_;
  const std::vector<std::string>& fields_;
  int64_t line_;
};

// A CSV file that begins with a line of names, read record by record. The text must outlive this
// object.
class CsvTable {
 public:
  // Throws InputError where the line of names is missing.
  CsvTable(std::string_view text, const std::string& source);

  const CsvHeader& header() const { return header_; }
  // The next record, which is valid until the following call; empty at the end.
  std::optional<CsvRecord> next();

  // Records refer to this object, so it is not copied.
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

 private:
  CsvHeader read_header(const std::string& source);

  CsvReader reader_;
  std::vector<std::string> fields_;
  CsvHeader header_;
};

}  // namespace ropewalk
