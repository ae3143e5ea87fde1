#include "ropewalk/base/processes/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ropewalk/base/processes/worker.h"

namespace ropewalk {
namespace {

TEST(Parallel, CallsEveryIndexOnce) {
  std::vector<std::atomic<int>> done(100);
  run_parallel(done.size(), 4, {}, [&](size_t i, const std::stop_token&) { ++done[i]; });
  for (const auto& count : done) EXPECT_EQ(count, 1);
  run_parallel(0, 4, {}, [](size_t, const std::stop_token&) { FAIL(); });
}

TEST(Parallel, TheFirstErrorStopsTheOthers) {
  std::atomic<int> stopped = 0;
  const auto work = [&](size_t i, const std::stop_token& stop) {
    if (i == 1) throw std::runtime_error("the first");
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++stopped;
    throw std::runtime_error("a later one");
  };
  try {
    run_parallel(3, 3, {}, work);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the first");
  }
  EXPECT_LE(stopped, 2);
}

TEST(Parallel, UsesAtMostItsCores) {
  limit_cores(1);
  std::atomic<int> elsewhere = 0;
  const auto count_threads = [&](size_t) {
    const std::thread::id own = std::this_thread::get_id();
    run_parallel(8, [&](size_t) { elsewhere += std::this_thread::get_id() == own ? 0 : 1; });
  };
  count_threads(0);
  EXPECT_EQ(elsewhere, 0);
  run_parallel(2, 2, {}, [&](size_t i, const std::stop_token&) {
    count_threads(i);
  });  // the limit is inherited
  EXPECT_EQ(elsewhere, 0);
  Worker worker;
  worker.run([&] { count_threads(0); }).get();
  EXPECT_EQ(elsewhere, 0);
  limit_cores(0);
}

TEST(Parallel, StopsFromOutside) {
  std::stop_source source;
  source.request_stop();
  run_parallel(5, 2, source.get_token(), [](size_t, const std::stop_token&) { FAIL(); });
}

}  // namespace
}  // namespace ropewalk
