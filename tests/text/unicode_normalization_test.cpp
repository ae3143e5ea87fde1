#include "ropewalk/text/unicode_normalization.h"

#include <gtest/gtest.h>

#include <string>

namespace ropewalk::unicode {
namespace {

std::string normalized(std::string text, NormalForm form) {
  normalize(text, form);
  return text;
}

TEST(Normalization, ComposesAndDecomposes) {
  EXPECT_EQ(normalized("e\u0301", NormalForm::nfc), "\u00E9");
  EXPECT_EQ(normalized("\u00E9x", NormalForm::nfd), "e\u0301x");
  EXPECT_EQ(normalized("\uFB01\u00BD", NormalForm::nfkc), "fi1\u20442");
  EXPECT_EQ(normalized("\uFB01", NormalForm::nfc), "\uFB01");
  EXPECT_EQ(normalized("a b\u0323\u0307 c", NormalForm::nfc), "a \u1E05\u0307 c");
}

TEST(Normalization, OrdersMarksByClass) {
  EXPECT_EQ(normalized("q\u0307\u0323", NormalForm::nfd), "q\u0323\u0307");
  EXPECT_EQ(normalized("\u0307\u0323", NormalForm::nfc), "\u0323\u0307");  // nothing before them
}

TEST(Normalization, ComputesHangul) {
  EXPECT_EQ(normalized("\uD55C", NormalForm::nfd), "\u1112\u1161\u11AB");
  EXPECT_EQ(normalized("\u1112\u1161\u11AB", NormalForm::nfc), "\uD55C");
  EXPECT_EQ(normalized("\uD558\u11AB", NormalForm::nfc), "\uD55C");
}

TEST(Normalization, KeepsWhatTheLibraryDoesNotKnow) {
  EXPECT_EQ(normalized("\u32FF", NormalForm::nfkc), "\u32FF");  // Unicode 12.1
  EXPECT_EQ(normalized("\U00011938", NormalForm::nfd), "\U00011938");
}

TEST(Normalization, TakesAMegabyteOfMarks) {
  std::string text = "a";
  for (int i = 0; i < 250'000; ++i) text += "\u0301\u0323";
  const std::string result = normalized(text, NormalForm::nfc);
  EXPECT_EQ(result.substr(0, 3), "\u1EA1");  // the first dot below joins the letter
  EXPECT_EQ(result.size(), text.size());
}

}  // namespace
}  // namespace ropewalk::unicode
