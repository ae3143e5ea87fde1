#include "ropewalk/text/arrow_cells.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <limits>

namespace ropewalk {
namespace {

using arrow::Type;

template <typename ArrayType>
auto value_of(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

template <typename ArrayType>
ListCell list_of(const arrow::Array& array, int64_t row) {
  const auto& lists = static_cast<const ArrayType&>(array);
  const int64_t begin = lists.value_offset(row);
  return {*lists.values(), begin, begin + lists.value_length(row)};
}

}  // namespace

bool is_list_type(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST ||
         type.id() == Type::FIXED_SIZE_LIST;
}

std::optional<int64_t> integer_cell(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::INT8:
      return value_of<arrow::Int8Array>(array, row);
    case Type::UINT8:
      return value_of<arrow::UInt8Array>(array, row);
    case Type::INT16:
      return value_of<arrow::Int16Array>(array, row);
    case Type::UINT16:
      return value_of<arrow::UInt16Array>(array, row);
    case Type::INT32:
      return value_of<arrow::Int32Array>(array, row);
    case Type::UINT32:
      return value_of<arrow::UInt32Array>(array, row);
    case Type::UINT64: {
      const uint64_t value = value_of<arrow::UInt64Array>(array, row);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return value_of<arrow::Int64Array>(array, row);
  }
}

ListCell list_cell(const arrow::Array& array, int64_t row) {
  if (array.type_id() == Type::LIST) return list_of<arrow::ListArray>(array, row);
  if (array.type_id() == Type::LARGE_LIST) return list_of<arrow::LargeListArray>(array, row);
  return list_of<arrow::FixedSizeListArray>(array, row);
}

}  // namespace ropewalk
