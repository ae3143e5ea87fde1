#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>

#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {

// Cells of a corpus in Parquet. `where` names file and row in the InputErrors.

// Refuses a column that can hold neither text (string, large_string, string_view, also behind a
// dictionary) nor tokens (a list of integers), or holds the wrong one of them.
void require_content_type(const arrow::DataType& type, const std::string& column,
                          FieldContent content, const std::string& file);
// Whether it can hold ids: integers or text.
bool is_id_type(const arrow::DataType& type);
// Refuses what cannot.
void require_id_type(const arrow::DataType& type, const std::string& column,
                     const std::string& file);

decltype(CorpusEntry::content) content_cell(const arrow::Array& column, int64_t row,
                                            const std::string& where);
// What cannot be an id is refused where the user `named` the column, and none otherwise.
decltype(CorpusEntry::id) id_cell(const arrow::Array& column, int64_t row, const std::string& where,
                                  bool named);

}  // namespace ropewalk
