#include "ropewalk/study/prefetch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

// After a while, or once it is `enough`.
int64_t bytes_of(const Prefetch& prefetch, int64_t enough) {
  for (int i = 0; i < 1000 && prefetch.bytes_read() < enough; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return prefetch.bytes_read();
}

TEST(Prefetch, ReadsEveryByteOfTheWeights) {
  TinyCheckpoint tiny;
  ModelOptions options;
  const auto opened = tiny.open();
  options.model = opened.checkpoint->folder();
  const int64_t size = opened.checkpoint->size();
  const Prefetch prefetch(options, "next");
  EXPECT_EQ(bytes_of(prefetch, size), size);
}

TEST(Prefetch, LeavesErrorsToWhoMeasures) {
  ModelOptions options;
  options.model = "/there/is/no/such/folder";
  const Prefetch prefetch(options, "next");
  EXPECT_EQ(prefetch.bytes_read(), 0);
}

}  // namespace
}  // namespace ropewalk
