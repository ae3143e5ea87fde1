#include "ropewalk/figures/parts/text_width.h"

#include <gtest/gtest.h>

#include <chrono>

namespace ropewalk {
namespace {

TEST(TextWidth, MeasuresText) {
  EXPECT_DOUBLE_EQ(text_width("", 10), 0);
  EXPECT_NEAR(text_width("Ml", 10), 8.33 + 2.22, 1e-9);
  EXPECT_GT(text_width("位置", 10), text_width("ab", 10));
}

TEST(TextWidth, CutsWhatDoesNotFit) {
  EXPECT_EQ(fit_text("short", 10, 100), "short");
  const std::string cut = fit_text("a rather long label of a checkpoint", 10, 80);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_LE(text_width(cut, 10), 80);
  // Never inside a character.
  EXPECT_EQ(fit_text("ééééé", 10, 24), "éé…");
}

TEST(TextWidth, CutsTheMiddle) {
  EXPECT_EQ(fit_middle("short", 10, 100), "short");
  const std::string cut = fit_middle("checkpoint-of-a-long-run-000123", 10, 80);
  EXPECT_TRUE(cut.starts_with("check") && cut.ends_with("00123")) << cut;
  EXPECT_LE(text_width(cut, 10), 80);
}

TEST(TextWidth, CutsTheMiddleOfAnyLength) {
  EXPECT_EQ(fit_middle("ééééééé", 10, 24), "é…é");
  std::string text;
  while (text.size() < 1000000) text += "xxxxxxxxxx";
  text += "end";
  const auto begin = std::chrono::steady_clock::now();
  const std::string cut = fit_middle(text, 10, 80);
  EXPECT_TRUE(cut.starts_with("xx") && cut.ends_with("xend")) << cut;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(TextWidth, BreaksLinesAtSpaces) {
  EXPECT_EQ(wrap_text("one two three", 10, 40, 3), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap_text("one two three", 10, 1000, 3), (std::vector<std::string>{"one two three"}));
  const auto lines = wrap_text("one two three four five", 10, 40, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[1].ends_with("…"));
  EXPECT_TRUE(wrap_text("", 10, 40, 2).empty());
}

}  // namespace
}  // namespace ropewalk
