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
// Refuses what is neither integer nor text.
void require_id_type(const arrow::DataType& type, const std::string& column,
                     const std::string& file);

decltype(CorpusEntry::content) content_cell(const arrow::Array& column, int64_t row,
                                            const std::string& where);
decltype(CorpusEntry::id) id_cell(const arrow::Array& column, int64_t row,
                                  const std::string& where);

}  // namespace ropewalk
