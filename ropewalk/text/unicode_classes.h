#pragma once

#include <optional>
#include <string_view>

#include "ropewalk/text/code_point_set.h"

// The classes of characters that `tokenizers` knows, by name.
namespace ropewalk::unicode {

// What \p{name} means: a general category ("Lu", "L", "Letter") or a script ("Han"). Case, spaces,
// '-' and '_' do not matter. Nothing where the name is not known.
std::optional<CodePointSet> find_property(std::string_view name);

CodePointSet whitespace_set();
CodePointSet digit_set();         // \d
CodePointSet word_set();          // \w
CodePointSet bracket_word_set();  // [\w], which is a little smaller

// The library's own tests, which are Rust's rather than the regular expressions'.
CodePointSet rust_word_set();
CodePointSet rust_numeric_set();
CodePointSet rust_punctuation_set();
CodePointSet combining_mark_set();

// A letter's forms when case is ignored: itself, its other case and, for s and k, a sign. For ASCII
// only: nothing where `code_point` is beyond it.
std::optional<CodePointSet> ascii_case_variants(char32_t code_point);

}  // namespace ropewalk::unicode
