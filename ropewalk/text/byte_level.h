#pragma once

#include <string>
#include <string_view>

namespace ropewalk {

// Byte-level tokenizers write every byte as a printable character of its own: '!' to '~' and most
// of Latin-1 stand for themselves, the other 68 bytes are U+0100 and the next ones. Appends `bytes`
// in that spelling, as UTF-8.
void append_byte_level(std::string& out, std::string_view bytes);

}  // namespace ropewalk
