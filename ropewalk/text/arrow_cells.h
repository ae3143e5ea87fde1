#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <optional>

namespace ropewalk {

// Single cells of Arrow arrays of any width. Rows must exist and must not be null.

// Whether a type is a list of variable or fixed length, with 32-bit or 64-bit offsets.
bool is_list_type(const arrow::DataType& type);

// The value of an array of any integer type; nothing where it exceeds int64.
std::optional<int64_t> integer_cell(const arrow::Array& array, int64_t row);

// The elements [begin, end) of `values` that a row of a list array holds.
struct ListCell {
  const arrow::Array& values;  // points into the list array
  int64_t begin;
  int64_t end;
};
ListCell list_cell(const arrow::Array& array, int64_t row);

}  // namespace ropewalk
