#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "ropewalk/base/processes/interrupt.h"
#include "tests/companion/play.h"

namespace ropewalk {
namespace {

using std::chrono::milliseconds;

TEST(CompanionEnd, EndsWithItsObject) {
  pid_t process = 0;
  {
    Companion companion(play_settings());
    process = process_of(companion);
  }
  EXPECT_EQ(::kill(process, 0), -1);
  {
    Companion::Settings hasty = play_settings();
    hasty.farewell = milliseconds(100);
    Companion companion(hasty);
    process = process_of(companion);
    companion.send("play", play_message({{"do", "hold"}, {"seconds", 600}}));
  }
  EXPECT_TRUE(is_gone(process));
}

TEST(CompanionEnd, OfAForkedProcessIsAnother) {
  Companion companion(play_settings());
  const pid_t mine = process_of(companion);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      code = process_of(companion) != mine && companion.generation() == 2 ? 0 : 2;
    } catch (...) {
    }
    companion.~Companion();
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(process_of(companion), mine);
}

// Prints what happens to it, for the test to read.
[[noreturn]] void be_interrupted() {
  install_interrupt_handlers();
  Companion companion(play_settings());
  const pid_t process = process_of(companion);
  std::thread([] {
    std::this_thread::sleep_for(milliseconds(200));
    ::kill(::getpid(), SIGTERM);
  }).detach();
  try {
    companion.ask("play", play_message({{"do", "sleep"}, {"seconds", 600}}));
  } catch (const Interrupted&) {
    companion.~Companion();
    ::_exit(is_gone(process) ? 10 : 11);
  }
  ::_exit(12);
}

TEST(CompanionEnd, EndsWhenItsOwnerIsInterrupted) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(be_interrupted(), testing::ExitedWithCode(10), "");
}

// Is interrupted before it has sent the companion its program.
[[noreturn]] void be_interrupted_while_it_starts_one() {
  install_interrupt_handlers();
  ::raise(SIGINT);
  try {
    Companion companion(play_settings());
    process_of(companion);
  } catch (const Interrupted&) {
    ::_exit(::waitpid(-1, nullptr, 0) < 0 ? 10 : 11);  // no child is left
  }
  ::_exit(12);
}

TEST(CompanionEnd, EndsWhenItsOwnerIsInterruptedAtTheStart) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(be_interrupted_while_it_starts_one(), testing::ExitedWithCode(10), "");
}

// Is killed without cleaning up, while a fork keeps everything open.
[[noreturn]] void be_killed() {
  Companion companion(play_settings());
  const pid_t process = process_of(companion);
  if (::fork() == 0) {
    ::sleep(20);
    ::_exit(0);
  }
  std::fprintf(stderr, "companion %d\n", static_cast<int>(process));
  ::raise(SIGKILL);
  ::_exit(1);
}

TEST(CompanionEnd, LeavesNoOrphan) {
  testing::internal::CaptureStderr();
  const pid_t parent = ::fork();
  if (parent == 0) be_killed();
  ::waitpid(parent, nullptr, 0);
  int process = 0;
  ASSERT_EQ(std::sscanf(testing::internal::GetCapturedStderr().c_str(), "companion %d", &process),
            1);
  EXPECT_TRUE(is_gone(process));
}

// The thread that ends it is not the one that started it.
TEST(CompanionEnd, OutlivesTheThreadThatStartedIt) {
  Companion companion(play_settings());
  pid_t process = 0;
  std::thread([&] { process = process_of(companion); }).join();
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(process_of(companion), process);
}

}  // namespace
}  // namespace ropewalk
