#include "ropewalk/base/processes/communicator.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/thread_job.h"

namespace ropewalk {
namespace {

TEST(Communicator, OneProcessKeepsItsOwnValues) {
  const Communicator processes;
  EXPECT_EQ(processes.rank(), 0);
  EXPECT_EQ(processes.count(), 1);
  EXPECT_TRUE(processes.first() && processes.alone());
  EXPECT_EQ(processes.from_first(int64_t{7}), 7);
  EXPECT_EQ(processes.from_first(std::string("text")), "text");
  int calls = 0;
  processes.first_before_others([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  processes.finish();
  processes.abort(3);
}

TEST(Communicator, AllProcessesGetTheFirstOnesValue) {
  ThreadJob(3).run([](const Communicator& processes) {
    EXPECT_FALSE(processes.alone());
    EXPECT_EQ(processes.from_first(int64_t{10 + processes.rank()}), 10);
    const std::string own(static_cast<size_t>(1 + 2 * processes.rank()), 'x');
    EXPECT_EQ(processes.from_first(own), "x") << "longer texts become shorter";
  });
}

TEST(Communicator, TheFirstProcessWorksBeforeTheOthers) {
  std::atomic<int> done = 0;
  ThreadJob(4).run([&](const Communicator& processes) {
    processes.first_before_others([&] {
      const int before = done++;
      EXPECT_EQ(before == 0, processes.first());
    });
  });
  EXPECT_EQ(done, 4);
}

TEST(Communicator, SendsNumbersToAnotherProcess) {
  ThreadJob(2).run([](const Communicator& processes) {
    std::vector<double> numbers{1.5, 2.5};
    if (processes.first()) return processes.send(1, numbers);
    numbers = {0, 0};
    processes.receive(0, numbers);
    EXPECT_EQ(numbers, (std::vector<double>{1.5, 2.5}));
  });
}

}  // namespace
}  // namespace ropewalk
