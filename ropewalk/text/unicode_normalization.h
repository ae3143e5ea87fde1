#pragma once

#include <string>

namespace ropewalk::unicode {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// Brings `text` (valid UTF-8) into a normal form (Unicode Standard Annex 15), knowing the
// characters that the `tokenizers` library knows, which are those of an older Unicode than its
// other parts.
void normalize(std::string& text, NormalForm form);

}  // namespace ropewalk::unicode
