#include "ropewalk/base/child_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"

namespace ropewalk {
namespace {

ChildResult shell(const std::string& script, std::string_view input = "") {
  return run_child({"sh", {"-c", script}, input});
}

TEST(ChildProcess, PassesInputAndCollectsBothOutputs) {
  const ChildResult result = shell("cat; echo problem >&2", "text\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "text\n");
  EXPECT_EQ(result.errors, "problem\n");
}

TEST(ChildProcess, PassesArgumentsAsTheyAre) {
  const ChildResult result = run_child({"printf", {"%s|", "a b", "$HOME", "'\""}, ""});
  EXPECT_EQ(result.output, "a b|$HOME|'\"|");
}

TEST(ChildProcess, ReturnsTheExitCode) {
  EXPECT_EQ(shell("exit 7").exit_code, 7);
  EXPECT_EQ(shell("kill -9 $$").exit_code, 128 + SIGKILL);
}

// More than any buffer holds, in both directions at once.
TEST(ChildProcess, CarriesMegabytes) {
  const std::string input(5 << 20, 'x');
  const ChildResult result = shell("cat", input);
  EXPECT_EQ(result.output.size(), input.size());
}

TEST(ChildProcess, SurvivesAChildThatDoesNotRead) {
  const std::string input(5 << 20, 'x');
  EXPECT_EQ(shell("exit 3", input).exit_code, 3);
}

TEST(ChildProcess, KeepsTheEndOfLongErrors) {
  const ChildResult result = shell("seq 1 100000 >&2; echo last >&2");
  EXPECT_LE(result.errors.size(), size_t{128} << 10);
  EXPECT_TRUE(result.errors.ends_with("last\n"));
}

TEST(ChildProcess, NamesAProgramThatCannotRun) {
  try {
    run_child({"no-such-program-anywhere", {}, ""});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-program-anywhere: cannot run"),
              std::string::npos);
  }
}

[[noreturn]] void interrupt_a_long_child() {
  install_interrupt_handlers();
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(::getpid(), SIGTERM);
  }).detach();
  const auto start = std::chrono::steady_clock::now();
  try {
    run_child({"sleep", {"60"}, ""});
  } catch (const Interrupted&) {
    std::exit(std::chrono::steady_clock::now() - start < std::chrono::seconds(20) ? 10 : 11);
  }
  std::exit(12);
}

TEST(ChildProcess, EndsTheChildWhenInterrupted) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(interrupt_a_long_child(), testing::ExitedWithCode(10), "");
}

}  // namespace
}  // namespace ropewalk
