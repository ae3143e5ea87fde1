#include "ropewalk/base/log.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::string said_at(log::Level level) {
  log::set_level(level);
  testing::internal::CaptureStderr();
  log::debug("d {}", 1);
  log::info("i {}", 2);
  log::warning("w {}", 3);
  log::error("e {}", 4);
  log::set_level(log::Level::info);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, SaysWhatTheLevelLets) {
  EXPECT_EQ(said_at(log::Level::debug), "debug: d 1\ni 2\nwarning: w 3\nerror: e 4\n");
  EXPECT_EQ(said_at(log::Level::info), "i 2\nwarning: w 3\nerror: e 4\n");
  EXPECT_EQ(said_at(log::Level::warning), "warning: w 3\nerror: e 4\n");
  EXPECT_EQ(said_at(log::Level::error), "error: e 4\n");
  EXPECT_EQ(said_at(log::Level::off), "");
}

TEST(Log, OneLineWhateverIsInIt) {
  testing::internal::CaptureStderr();
  log::error("tensor '{}'", "a\nb\x1b[2J\xff");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: tensor 'a\\nb\\x1b[2J\\xff'\n");
}

TEST(Log, KnowsItsLevels) {
  EXPECT_EQ(log::parse_level("debug"), log::Level::debug);
  EXPECT_EQ(log::parse_level("off"), log::Level::off);
  for (const char* bad : {"", "Info", "verbose"}) EXPECT_THROW(log::parse_level(bad), UsageError);
}

}  // namespace
}  // namespace ropewalk
