#include "ropewalk/base/base64.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Base64, GivesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, EncodesAnyByte) { EXPECT_EQ(base64(std::string_view("\xff\x00\xfe", 3)), "/wD+"); }

}  // namespace
}  // namespace ropewalk
