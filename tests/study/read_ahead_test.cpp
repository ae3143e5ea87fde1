#include "ropewalk/study/read_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

// After a while, or once it is `enough`.
int64_t bytes_of(const ReadAhead& ahead, int64_t enough) {
  for (int i = 0; i < 1000 && ahead.bytes_read() < enough; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return ahead.bytes_read();
}

TEST(ReadAhead, ReadsTheOneThatIsMeasuredAndTheNext) {
  TinyCheckpoint tiny;
  ModelOptions options;
  const auto opened = tiny.open();
  options.model = opened.checkpoint->folder();
  const int64_t size = opened.checkpoint->size();
  Timeline timeline;
  ReadAhead ahead({{options, "a"}, {options, "b"}, {options, "c"}}, timeline);
  ahead.begin("a");
  ahead.ready("a");
  EXPECT_EQ(bytes_of(ahead, 2 * size), 2 * size);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ahead.bytes_read(), 2 * size) << "the third one has time";
  ahead.begin("b");
  EXPECT_EQ(bytes_of(ahead, 3 * size), 3 * size);
}

TEST(ReadAhead, LeavesErrorsToWhoMeasures) {
  ModelOptions options;
  options.model = "/there/is/no/such/folder";
  Timeline timeline;
  ReadAhead ahead({{options, "a"}, {options, "b"}}, timeline);
  ahead.begin("a");
  ahead.ready("a");
  ahead.begin("b");
  EXPECT_EQ(ahead.bytes_read(), 0);
}

TEST(ReadAhead, EndsWhileItWaits) {
  ModelOptions options;
  options.model = "/there/is/no/such/folder";
  Timeline timeline;
  const ReadAhead ahead({{options, "a"}, {options, "b"}, {options, "c"}}, timeline);
}

}  // namespace
}  // namespace ropewalk
