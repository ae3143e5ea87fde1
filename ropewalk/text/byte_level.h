#pragma once

#include <string>
#include <string_view>

namespace ropewalk {

// Byte-level tokenizers write every byte as a printable character of its own: '!' to '~' and most
// of Latin-1 stand for themselves, the other 68 bytes for U+0100 on.
char32_t byte_level_character(unsigned char byte);

// Appends `bytes` in that spelling, as UTF-8.
void append_byte_level(std::string& out, std::string_view bytes);

}  // namespace ropewalk
