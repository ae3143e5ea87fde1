#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// Reads comma-separated values record by record (RFC 4180): fields may be quoted, a doubled quote
// stands for one, quoted fields may hold commas and line ends. Lines end with LF or CRLF; a byte
// order mark is skipped, and so are empty lines. The text must outlive the reader.
class CsvReader {
 public:
  // `source` names the file in errors.
  CsvReader(std::string_view text, std::string source);

  // Reads the next record; returns false at the end. Throws InputError naming source and line where
  // a quote is not closed or stands where none may.
  bool next(std::vector<std::string>& fields);

  // The line on which the last record began, from 1.
  int64_t line() const { return line_; }

 private:
  std::string quoted_field();
  std::string plain_field();

  std::string_view rest_;
  std::string source_;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
};

}  // namespace ropewalk
