#include "ropewalk/text/parquet_cells.h"

#include <arrow/api.h>

#include <limits>
#include <optional>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {
namespace {

using arrow::Type;

bool is_text(const arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY) {
    return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  return type.id() == Type::STRING || type.id() == Type::LARGE_STRING ||
         type.id() == Type::STRING_VIEW;
}

bool is_list(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST ||
         type.id() == Type::FIXED_SIZE_LIST;
}

bool is_token_list(const arrow::DataType& type) {
  return is_list(type) && arrow::is_integer(type.field(0)->type()->id());
}

template <typename ArrayType>
auto value_at(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).GetView(row);
}

[[noreturn]] void refuse_null(const std::string& where, std::string_view what) {
  throw InputError("{}: {} is null; expected a value", where, what);
}

std::string_view text_at(const arrow::Array& array, int64_t row, const std::string& where,
                         std::string_view what) {
  if (array.IsNull(row)) refuse_null(where, what);
  switch (array.type_id()) {
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return text_at(*dictionary.dictionary(), dictionary.GetValueIndex(row), where, what);
    }
    case Type::STRING:
      return value_at<arrow::StringArray>(array, row);
    case Type::LARGE_STRING:
      return value_at<arrow::LargeStringArray>(array, row);
    default:
      return value_at<arrow::StringViewArray>(array, row);
  }
}

// Nothing where an unsigned number exceeds int64.
std::optional<int64_t> integer_at(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::INT8:
      return value_at<arrow::Int8Array>(array, row);
    case Type::UINT8:
      return value_at<arrow::UInt8Array>(array, row);
    case Type::INT16:
      return value_at<arrow::Int16Array>(array, row);
    case Type::UINT16:
      return value_at<arrow::UInt16Array>(array, row);
    case Type::INT32:
      return value_at<arrow::Int32Array>(array, row);
    case Type::UINT32:
      return value_at<arrow::UInt32Array>(array, row);
    case Type::UINT64: {
      const uint64_t value = value_at<arrow::UInt64Array>(array, row);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return value_at<arrow::Int64Array>(array, row);
  }
}

struct Span {
  const arrow::Array& values;
  int64_t begin;
  int64_t end;
};

template <typename ArrayType>
Span span_of(const arrow::Array& array, int64_t row) {
  const auto& lists = static_cast<const ArrayType&>(array);
  return {*lists.values(), lists.value_offset(row),
          lists.value_offset(row) + lists.value_length(row)};
}

Span list_at(const arrow::Array& array, int64_t row) {
  if (array.type_id() == Type::LIST) return span_of<arrow::ListArray>(array, row);
  if (array.type_id() == Type::LARGE_LIST) return span_of<arrow::LargeListArray>(array, row);
  return span_of<arrow::FixedSizeListArray>(array, row);
}

std::vector<int32_t> tokens_at(const arrow::Array& array, int64_t row, const std::string& where) {
  if (array.IsNull(row)) refuse_null(where, "the document");
  const auto [values, begin, end] = list_at(array, row);
  if (begin == end) throw InputError("{}: the document is empty; expected token ids", where);
  std::vector<int32_t> tokens;
  tokens.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    if (values.IsNull(i)) refuse_null(where, fmt::format("token {}", i - begin));
    // A number beyond int64 is refused like any other that is too large.
    const int64_t token = integer_at(values, i).value_or(std::numeric_limits<int64_t>::max());
    tokens.push_back(checked_token(token, tokens.size(), where));
  }
  return tokens;
}

}  // namespace

void require_content_type(const arrow::DataType& type, const std::string& column,
                          FieldContent content, const std::string& file) {
  const bool text = is_text(type) && content != FieldContent::tokens;
  const bool tokens = is_token_list(type) && content != FieldContent::text;
  if (text || tokens) return;
  throw InputError("{}: column '{}' holds {}; expected {}", file, column, type.ToString(),
                   content == FieldContent::text     ? "strings"
                   : content == FieldContent::tokens ? "lists of integer token ids"
                                                     : "strings or lists of integer token ids");
}

void require_id_type(const arrow::DataType& type, const std::string& column,
                     const std::string& file) {
  if (is_text(type) || arrow::is_integer(type.id())) return;
  throw InputError("{}: id column '{}' holds {}; expected integers or strings", file, column,
                   type.ToString());
}

decltype(CorpusEntry::content) content_cell(const arrow::Array& column, int64_t row,
                                            const std::string& where) {
  if (is_list(*column.type())) return tokens_at(column, row, where);
  return checked_text(std::string(text_at(column, row, where, "the document")), where);
}

decltype(CorpusEntry::id) id_cell(const arrow::Array& column, int64_t row,
                                  const std::string& where) {
  if (is_text(*column.type())) {
    const std::string_view text = text_at(column, row, where, "the id");
    require_utf8(text, where);
    return std::string(text);
  }
  if (column.IsNull(row)) refuse_null(where, "the id");
  const auto number = integer_at(column, row);
  if (!number) throw InputError("{}: the id is beyond 64 signed bits", where);
  return *number;
}

}  // namespace ropewalk
