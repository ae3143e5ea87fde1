#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <optional>

namespace ropewalk {

// Single cells of Arrow arrays whatever their width. Rows must exist and not be null.

// Lists of variable or fixed length, of 32-bit or 64-bit offsets.
bool is_list_type(const arrow::DataType& type);

// The value of an array of any integer type; nothing where it exceeds int64.
std::optional<int64_t> integer_cell(const arrow::Array& array, int64_t row);

// The elements [begin, end) of `values` that a row of a list array holds.
struct ListCell {
  const arrow::Array& values;  // belongs to the list array
  int64_t begin;
  int64_t end;
};
ListCell list_cell(const arrow::Array& array, int64_t row);

}  // namespace ropewalk
