#include "ropewalk/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// `good` in front checks that the offset counts, and that the fast path over ASCII ends in time.
void expect_invalid(std::string_view bytes, size_t offset_within) {
  for (const size_t before : {0, 1, 7, 8, 9, 16}) {
    const std::string text = std::string(before, 'a') + std::string(bytes);
    const auto offset = invalid_utf8_offset(text);
    ASSERT_TRUE(offset.has_value()) << "after " << before;
    EXPECT_EQ(*offset, before + offset_within);
  }
}

TEST(Utf8, AcceptsEveryLength) {
  EXPECT_FALSE(invalid_utf8_offset(""));
  EXPECT_FALSE(invalid_utf8_offset("plain ascii, more than eight bytes"));
  EXPECT_FALSE(invalid_utf8_offset("\x7F\xC2\x80\xDF\xBF"));  // U+7F, 80, 7FF
  EXPECT_FALSE(invalid_utf8_offset(
      "\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"));               // 800, D7FF, E000, FFFF
  EXPECT_FALSE(invalid_utf8_offset("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));  // 10000, 10FFFF
  EXPECT_FALSE(invalid_utf8_offset(std::string("a\0b", 3)));
}

TEST(Utf8, RefusesEveryMalformation) {
  expect_invalid("\x80", 0);  // continuation alone
  expect_invalid("\xBF", 0);
  expect_invalid("\xC0\x80", 0);          // overlong NUL
  expect_invalid("\xC1\xBF", 0);          // overlong, two bytes
  expect_invalid("\xE0\x9F\xBF", 0);      // overlong, three bytes
  expect_invalid("\xF0\x8F\xBF\xBF", 0);  // overlong, four bytes
  expect_invalid("\xED\xA0\x80", 0);      // first surrogate
  expect_invalid("\xED\xBF\xBF", 0);      // last surrogate
  expect_invalid("\xF4\x90\x80\x80", 0);  // U+110000
  expect_invalid("\xF5\x80\x80\x80", 0);
  expect_invalid("\xFF", 0);
  expect_invalid("\xC3", 0);  // cut short
  expect_invalid("\xE2\x82", 0);
  expect_invalid("\xF0\x9F\x99", 0);
  expect_invalid("\xC3(", 0);  // second byte is not a continuation
  expect_invalid("\xE2\x82(", 0);
  expect_invalid("\xC3\xA9\xFF", 2);  // after a good one
}

TEST(Utf8, MessageNamesByteAndOffset) {
  try {
    require_utf8("abc\xFFzzz", "file.jsonl:3");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "file.jsonl:3: not valid UTF-8: byte 0xff at offset 3; convert the file to UTF-8");
  }
}

TEST(Utf8, ByteOrderMark) {
  EXPECT_EQ(without_bom("\xEF\xBB\xBF"
                        "abc"),
            "abc");
  EXPECT_EQ(without_bom("abc"), "abc");
  EXPECT_EQ(without_bom("\xEF\xBB"), "\xEF\xBB");
}

}  // namespace
}  // namespace ropewalk
