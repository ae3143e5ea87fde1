#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ropewalk {

// The offset of the first byte that does not belong to well-formed UTF-8 (Unicode 3.9, table 3-7:
// no overlong form, no surrogate, nothing above U+10FFFF), or nothing where all is well.
std::optional<size_t> invalid_utf8_offset(std::string_view text);

// Throws InputError naming `where` and the byte offset unless `text` is well-formed.
void require_utf8(std::string_view text, std::string_view where);

// Drops a byte order mark from the front.
std::string_view without_bom(std::string_view text);

}  // namespace ropewalk
