#include "ropewalk/base/printable.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Printable, KeepsText) {
  for (const char* text : {"", "plain text", "café – 日本語 🙂", "back\\slash"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesTerminalControls) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B"), "\\u{9b}");  // the one-byte escape sequence
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a\\u{202e}b");  // right-to-left override
  EXPECT_EQ(printable("a\xE2\x80\xA8"
                      "b"),
            "a\\u{2028}b");  // line separator
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xFF\xFE"), "a\\xff\\xfe");
  EXPECT_EQ(printable("\xC3"), "\\xc3");                             // cut short
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xE0\x80\xAF"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past U+10FFFF
  EXPECT_EQ(printable("\x80é"), "\\x80é");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable_excerpt("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_excerpt("abcdefg", 6), "abcdef…");
  EXPECT_EQ(printable_excerpt("ééé", 3), "éé…");  // cuts between characters
}

}  // namespace
}  // namespace ropewalk
