#include "ropewalk/text/parquet_cells.h"

#include <arrow/api.h>

#include <limits>
#include <optional>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/arrow_cells.h"

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

bool is_token_list(const arrow::DataType& type) {
  return is_list_type(type) && arrow::is_integer(type.field(0)->type()->id());
}

// Returns nothing for null.
std::optional<std::string_view> text_at(const arrow::Array& array, int64_t row,
                                        const std::string& where, std::string_view what) {
  if (array.IsNull(row)) return std::nullopt;
  switch (array.type_id()) {
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      const int64_t index = dictionary.GetValueIndex(row);
      if (index < 0 || index >= dictionary.dictionary()->length()) {
        throw InputError("{}: {} refers to an entry that the column's dictionary lacks", where,
                         what);
      }
      return text_at(*dictionary.dictionary(), index, where, what);
    }
    case Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(row);
    case Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(row);
    default:
      return static_cast<const arrow::StringViewArray&>(array).GetView(row);
  }
}

std::vector<int32_t> tokens_at(const arrow::Array& array, int64_t row, const std::string& where) {
  const auto [values, begin, end] = list_cell(array, row);
  std::vector<int32_t> tokens;
  tokens.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    if (values.IsNull(i)) {
      throw InputError("{}: token {} is null; expected a value", where, i - begin);
    }
    // A number beyond int64 is refused like any other id that is too large.
    const int64_t token = integer_cell(values, i).value_or(std::numeric_limits<int64_t>::max());
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

bool is_id_type(const arrow::DataType& type) {
  return is_text(type) || arrow::is_integer(type.id());
}

void require_id_type(const arrow::DataType& type, const std::string& column,
                     const std::string& file) {
  if (is_id_type(type)) return;
  throw InputError("{}: id column '{}' holds {}; expected integers or strings{}", file, column,
                   type.ToString(), kWithoutIds);
}

decltype(CorpusEntry::content) content_cell(const arrow::Array& column, int64_t row,
                                            const std::string& where) {
  if (column.IsNull(row)) return {};
  if (is_list_type(*column.type())) return tokens_at(column, row, where);
  return checked_text(std::string(text_at(column, row, where, "the document").value_or("")), where);
}

decltype(CorpusEntry::id) id_cell(const arrow::Array& column, int64_t row, const std::string& where,
                                  bool named) {
  const auto none = [&](std::string_view is) -> decltype(CorpusEntry::id) {
    if (!named) return {};
    throw InputError("{}: the id {}; expected a 64-bit integer or a string{}", where, is,
                     kWithoutIds);
  };
  if (is_text(*column.type())) {
    const auto text = text_at(column, row, where, "the id");
    if (!text) return none("is null");
    if (invalid_utf8_offset(*text)) return none("is not UTF-8");
    return std::string(*text);
  }
  if (column.IsNull(row)) return none("is null");
  const auto number = integer_cell(column, row);
  if (!number) return none("is beyond 64 signed bits");
  return *number;
}

}  // namespace ropewalk
