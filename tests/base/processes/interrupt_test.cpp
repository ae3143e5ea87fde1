#include "ropewalk/base/processes/interrupt.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/processes/last_resort.h"
#include "ropewalk/base/terminal.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

// Signals stay with a process, so each of these tests runs in a process of its own.

[[noreturn]] void raise_and_report(int signal) {
  install_interrupt_handlers();
  show_on_terminal();
  throw_if_interrupted();  // no signal yet
  std::raise(signal);
  try {
    throw_if_interrupted();
  } catch (const Interrupted& error) {
    ::_exit(error.signal() == signal ? 10 : 11);  // at once: the watcher does not wait for long
  }
  ::_exit(12);
}

TEST(Interrupt, IsAskedForAndForgotten) {
  request_interrupt(SIGINT);
  EXPECT_TRUE(interrupted());
  EXPECT_THROW(throw_if_interrupted(), Interrupted);
  forget_interrupt();
  EXPECT_FALSE(interrupted());
  throw_if_interrupted();
}

TEST(Interrupt, TurnsSignalsIntoAnException) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(raise_and_report(SIGINT), testing::ExitedWithCode(10), "");
  EXPECT_EXIT(raise_and_report(SIGTERM), testing::ExitedWithCode(10), "");
}

// Long work that does not check for signals; the folder that it fills is removed all the same.
[[noreturn]] void work_on(const std::filesystem::path& target, int signals) {
  install_interrupt_handlers();
  show_on_terminal();
  const AtomicFolder folder(target);
  write_file_atomically(folder.path() / "half", "of it");
  for (int i = 0; i < signals; ++i) std::raise(SIGINT);
  for (;;) ::pause();
}

TEST(Interrupt, EndsWorkThatDoesNotLook) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  for (const int signals : {1, 2}) {
    EXPECT_EXIT(work_on(folder.path() / "new" / "out", signals), testing::ExitedWithCode(130),
                "^error: interrupted by signal 2\n$");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << signals;
  }
}

TEST(Interrupt, DoesNotReachAThreadThatWritesWhatTookLong) {
  request_interrupt(SIGINT);
  {
    const UninterruptedScope writing;
    EXPECT_TRUE(interrupted());
    throw_if_interrupted();
  }
  EXPECT_THROW(throw_if_interrupted(), Interrupted);
  forget_interrupt();
}

// Longer than a program may run that writes nothing.
[[noreturn]] void write_for_a_while(int signals) {
  install_interrupt_handlers();
  show_on_terminal();
  const UninterruptedScope writing;
  for (int i = 0; i < signals; ++i) std::raise(SIGINT);
  ::usleep(2'000'000);
  ::_exit(10);  // still being written: what follows has no time
}

TEST(Interrupt, WaitsForWhatIsBeingWrittenUnlessAskedTwice) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(write_for_a_while(1), testing::ExitedWithCode(10), "");
  EXPECT_EXIT(write_for_a_while(2), testing::ExitedWithCode(130), "interrupted by signal 2");
}

TEST(Interrupt, TheThirdSignalEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        install_interrupt_handlers();
        is_first_to_end();  // and takes long
        for (int i = 0; i < 3; ++i) std::raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

[[noreturn]] void end_by_a_library(const std::filesystem::path& target) {
  install_interrupt_handlers();
  show_on_terminal();
  const AtomicFolder folder(target);
  std::exit(1);
}

TEST(Interrupt, WhoeverEndsTheProgramNothingHalfDoneStays) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  EXPECT_EXIT(end_by_a_library(folder.path() / "out"), testing::ExitedWithCode(1), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

[[noreturn]] void read_what_is_gone(const std::filesystem::path& path) {
  install_interrupt_handlers();
  show_on_terminal();
  const MappedFile file(path);
  std::filesystem::resize_file(path, 1);
  const std::string copy(file.text());
  std::exit(copy.size() == 7 ? 10 : 11);
}

TEST(Interrupt, NamesAFileThatIsCutOffWhileItIsRead) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  const auto path = folder.write("weights", std::string(100'000, 'x'));
  EXPECT_EXIT(read_what_is_gone(path), testing::ExitedWithCode(4),
              "^error: .*/weights: changed or vanished while it was being read");
}

[[noreturn]] void read_nowhere(const std::filesystem::path& target) {
  install_interrupt_handlers();
  show_on_terminal();
  const AtomicFolder folder(target);
  write_file_atomically(folder.path() / "half", "of it");
  const auto* const nowhere = reinterpret_cast<const volatile char*>(uintptr_t{64});
  std::exit(*nowhere == 0 ? 10 : 11);
}

// Like a library that finds no memory: the caller sees a crash, but temporary files are removed.
TEST(Interrupt, ACrashLeavesNothingHalfDone) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  EXPECT_EXIT(read_nowhere(folder.path() / "out"), testing::KilledBySignal(SIGSEGV),
              "^error: signal 11: a fault of this program or of one of its libraries; .*\n$");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

[[noreturn]] void write_past_a_limit(const std::filesystem::path& path) {
  install_interrupt_handlers();
  show_on_terminal();
  const rlimit limit{1000, 1000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  try {
    write_file_atomically(path, std::string(2000, 'x'));
  } catch (const SystemError& error) {
    const std::string text = error.what();
    std::exit(text == path.string() + ": cannot write: File too large" ? 10 : 11);
  }
  std::exit(12);
}

TEST(Interrupt, WritingPastALimitIsAnError) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TemporaryFolder folder;
  EXPECT_EXIT(write_past_a_limit(folder.path() / "a"), testing::ExitedWithCode(10), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Interrupt, NothingHappensWithoutASignal) { EXPECT_NO_THROW(throw_if_interrupted()); }

}  // namespace
}  // namespace ropewalk
