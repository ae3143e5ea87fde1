#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>

#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {

// Cells of a corpus in Parquet. `where` names file and row in InputErrors.

// Throws InputError for a column that can hold neither text (string, large_string, string_view,
// also behind a dictionary) nor tokens (a list of integers), or that holds the wrong one of the
// two.
void require_content_type(const arrow::DataType& type, const std::string& column,
                          FieldContent content, const std::string& file);
// Whether a type can hold ids: integers or text.
bool is_id_type(const arrow::DataType& type);
// Throws InputError for a type that cannot hold ids.
void require_id_type(const arrow::DataType& type, const std::string& column,
                     const std::string& file);

decltype(CorpusEntry::content) content_cell(const arrow::Array& column, int64_t row,
                                            const std::string& where);
// A value that cannot be an id is an error where the user `named` the column, and counts as none
// otherwise.
decltype(CorpusEntry::id) id_cell(const arrow::Array& column, int64_t row, const std::string& where,
                                  bool named);

}  // namespace ropewalk
