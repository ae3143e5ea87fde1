#include "ropewalk/base/csv.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kExcerpt = 40;

// Drops a line end from the front and returns whether there was one.
bool take_line_end(std::string_view& text) {
  if (text.starts_with("\r\n")) {
    text.remove_prefix(2);
    return true;
  }
  if (text.starts_with('\n') || text.starts_with('\r')) {
    text.remove_prefix(1);
    return true;
  }
  return false;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string source)
    : rest_(text), source_(std::move(source)) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  while (take_line_end(rest_)) ++next_line_;
  if (rest_.empty()) return false;
  line_ = next_line_;
  while (true) {
    fields.push_back(rest_.starts_with('"') ? quoted_field() : plain_field());
    if (rest_.starts_with(',')) {
      rest_.remove_prefix(1);
      continue;
    }
    if (take_line_end(rest_)) ++next_line_;
    return true;
  }
}

std::string CsvReader::plain_field() {
  const std::string_view field = rest_.substr(0, rest_.find_first_of(",\r\n"));
  if (field.find('"') != std::string_view::npos) {
    throw InputError(
        "{}, line {}: field '{}' has a quote inside; put the field in quotes and double the quotes "
        "inside it",
        source_, next_line_, printable_excerpt(field, kExcerpt));
  }
  rest_.remove_prefix(field.size());
  return std::string(field);
}

std::string CsvReader::quoted_field() {
  const int64_t start = next_line_;
  std::string field;
  rest_.remove_prefix(1);
  while (true) {
    const size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) {
      throw InputError("{}, line {}: a quoted field has no closing quote", source_, start);
    }
    const std::string_view part = rest_.substr(0, quote);
    next_line_ += std::count(part.begin(), part.end(), '\n');
    field += part;
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    field += '"';
    rest_.remove_prefix(1);
  }
  if (!rest_.empty() && rest_.find_first_of(",\r\n") != 0) {
    throw InputError("{}, line {}: expected a comma or the line's end after a closing quote",
                     source_, next_line_);
  }
  return field;
}

}  // namespace ropewalk
