#include "ropewalk/base/processes/worker.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace ropewalk {
namespace {

TEST(Worker, RunsTasksInOrderOnOneThread) {
  std::vector<int> done;
  std::thread::id thread;
  {
    Worker worker;
    thread = worker.run([] { return std::this_thread::get_id(); }).get();
    for (int i = 0; i < 100; ++i) worker.run([&done, i] { done.push_back(i); });
    EXPECT_EQ(worker.run([] { return std::this_thread::get_id(); }).get(), thread);
  }
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(Worker, PassesErrorsOn) {
  Worker worker;
  auto broken = worker.run([]() -> int { throw std::runtime_error("broken"); });
  EXPECT_THROW(broken.get(), std::runtime_error);
  EXPECT_EQ(worker.run([] { return 2; }).get(), 2) << "and goes on";
}

}  // namespace
}  // namespace ropewalk
