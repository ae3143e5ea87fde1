#include "ropewalk/base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ropewalk/base/log.h"

namespace ropewalk {
namespace {

// stderr is a file here, so these are the plain lines of a run without a terminal.
class ProgressTest : public testing::Test {
 protected:
  void TearDown() override { log::set_level(log::Level::info); }
};

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(ProgressTest, AQuickJobTakesOneLine) {
  testing::internal::CaptureStderr();
  {
    Progress progress("capture", "tokens", 1000);
    for (int i = 0; i < 1000; ++i) progress.advance(1);
    progress.finish();
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines(text), 1) << text;
  EXPECT_TRUE(text.starts_with("capture 100 %")) << text;
  EXPECT_NE(text.find("tokens/s"), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos) << "no terminal, no redrawing";
}

TEST_F(ProgressTest, ShowsHowFarItCame) {
  testing::internal::CaptureStderr();
  {
    Progress progress("capture", "tokens", 1000);
    progress.note("layer 3/30");
    progress.advance(55);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("capture   6 %"), std::string::npos);
}

TEST_F(ProgressTest, NothingToDoAndTooMuchDone) {
  testing::internal::CaptureStderr();
  {
    Progress none("none", "tokens", 0);
    Progress more("more", "tokens", 10);
    more.advance(25);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("none   0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("more 100 %"), std::string::npos) << text;
}

TEST_F(ProgressTest, SilentAboveInfo) {
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  {
    Progress progress("capture", "tokens", 10);
    progress.advance(10);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ropewalk
