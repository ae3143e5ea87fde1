#include "ropewalk/text/byte_level.h"

#include <array>

#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = is_printable ? byte : next++;
  }
  return characters;
}

const std::array<char32_t, 256> characters = make_characters();

}  // namespace

void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_utf8(out, characters[static_cast<unsigned char>(byte)]);
}

}  // namespace ropewalk
