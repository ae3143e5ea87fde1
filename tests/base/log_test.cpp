#include "ropewalk/base/log.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// The lines that a redirected log receives.
std::string said_at(log::Level level) {
  log::set_level(level);
  std::string said;
  log::set_sink([&](log::Level at, std::string_view line) {
    said += fmt::format("{}:{} ", static_cast<int>(at), line);
  });
  log::debug("d {}", 1);
  log::info("i {}", 2);
  log::warning("w {}", 3);
  log::error("e {}", 4);
  log::set_level(log::Level::info);
  log::set_sink({});
  return said;
}

TEST(Log, SaysWhatTheLevelLets) {
  EXPECT_EQ(said_at(log::Level::debug), "0:d 1 1:i 2 2:w 3 3:e 4 ");
  EXPECT_EQ(said_at(log::Level::info), "1:i 2 2:w 3 3:e 4 ");
  EXPECT_EQ(said_at(log::Level::warning), "2:w 3 3:e 4 ");
  EXPECT_EQ(said_at(log::Level::error), "3:e 4 ");
  EXPECT_EQ(said_at(log::Level::off), "");
}

TEST(Log, OneLineWhateverIsInIt) {
  std::string said;
  log::set_sink([&](log::Level, std::string_view line) { said = line; });
  log::error("tensor '{}'", "a\nb\x1b[2J\xff");
  log::set_sink({});
  EXPECT_EQ(said, "tensor 'a\\nb\\x1b[2J\\xff'");
}

TEST(Log, SaysNothingByItself) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log::error("nobody listens");
  EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
}

TEST(Log, KnowsItsLevels) {
  EXPECT_EQ(log::parse_level("debug"), log::Level::debug);
  EXPECT_EQ(log::parse_level("off"), log::Level::off);
  for (const char* bad : {"", "Info", "verbose"}) EXPECT_THROW(log::parse_level(bad), UsageError);
}

}  // namespace
}  // namespace ropewalk
