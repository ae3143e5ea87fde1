#include "ropewalk/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Signals stay with a process for good, so each of these happens in one of its own.

[[noreturn]] void raise_and_report(int signal) {
  install_interrupt_handlers();
  throw_if_interrupted();  // nothing yet
  std::raise(signal);
  try {
    throw_if_interrupted();
  } catch (const Interrupted& error) {
    std::exit(error.signal() == signal ? 10 : 11);
  }
  std::exit(12);
}

TEST(Interrupt, TurnsSignalsIntoAnException) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(raise_and_report(SIGINT), testing::ExitedWithCode(10), "");
  EXPECT_EXIT(raise_and_report(SIGTERM), testing::ExitedWithCode(10), "");
}

TEST(Interrupt, TheSecondSignalEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        install_interrupt_handlers();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Interrupt, NothingHappensWithoutASignal) { EXPECT_NO_THROW(throw_if_interrupted()); }

}  // namespace
}  // namespace ropewalk
