#include "ropewalk/base/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ropewalk/base/log.h"
#include "ropewalk/base/progress.h"

namespace ropewalk {
namespace {

// stderr is a file in these tests, so they see the plain lines of a run without a terminal.
class TerminalTest : public testing::Test {
 protected:
  void SetUp() override { show_on_terminal(); }
  void TearDown() override {
    log::set_level(log::Level::info);
    log::set_sink({});
    set_progress_sink({});
  }
};

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(TerminalTest, AQuickJobTakesOneLine) {
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

TEST_F(TerminalTest, ShowsTheFinalState) {
  testing::internal::CaptureStderr();
  {
    Progress progress("capture", "tokens", 1000);
    progress.note("layer 3/30");
    progress.advance(55);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("capture   6 %"), std::string::npos);
}

TEST_F(TerminalTest, NothingToDoAndTooMuchDone) {
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

TEST_F(TerminalTest, SilentAboveInfo) {
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  {
    Progress progress("capture", "tokens", 10);
    progress.advance(10);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(TerminalTest, LinesNameTheirLevel) {
  testing::internal::CaptureStderr();
  log::set_level(log::Level::debug);
  log::debug("d");
  log::info("i");
  log::warning("w");
  log::error("e");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "debug: d\ni\nwarning: w\nerror: e\n");
}

TEST(Progress, ReportsToASink) {
  std::vector<ProgressReport> reports;
  set_progress_sink([&](const ProgressReport& now) { reports.push_back(now); });
  {
    Progress progress("capture", "tokens", 10);
    progress.advance(4);
    progress.note("layer 2/3");
  }
  set_progress_sink({});
  ASSERT_EQ(reports.size(), 3);
  EXPECT_EQ(reports[0].done, 4);
  EXPECT_EQ(reports[1].note, "layer 2/3");
  EXPECT_FALSE(reports[1].last);
  EXPECT_TRUE(reports[2].last);
  EXPECT_EQ(reports[2].title, "capture");
}

TEST(Progress, IsSilentWithoutASink) {
  testing::internal::CaptureStderr();
  Progress("capture", "tokens", 10).advance(10);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ropewalk
