#include "ropewalk/study/run/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/direct_reading.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

// The bytes read after a while, or as soon as there are `enough`.
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
  ReadAhead ahead({{options, "a"}, {options, "b"}, {options, "c"}}, timeline, false);
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
  ReadAhead ahead({{options, "a"}, {options, "b"}}, timeline, false);
  ahead.begin("a");
  ahead.ready("a");
  ahead.begin("b");
  EXPECT_EQ(ahead.bytes_read(), 0);
}

TEST(ReadAhead, EndsWhileItWaits) {
  ModelOptions options;
  options.model = "/there/is/no/such/folder";
  Timeline timeline;
  const ReadAhead ahead({{options, "a"}, {options, "b"}, {options, "c"}}, timeline, false);
}

// Removes a file from the system's cache, if there is a disk.
void forget(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

TEST(ReadAhead, HandsOnWhatItReadsDirectly) {
  TinyCheckpoint tiny;
  ModelOptions options;
  const auto plain = tiny.open();
  options.model = plain.checkpoint->folder();
  forget(options.model / "model.safetensors");
  Timeline timeline;
  ReadAhead ahead({{options, "a"}, {options, "b"}}, timeline, true);
  ahead.begin("a");
  const ReadAhead::Opened first = ahead.ready("a");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ahead.ready("a"), first) << "opened once";
  const OpenModel model = open_model(options, first);
  EXPECT_EQ(model.checkpoint, first);
  EXPECT_NE(first->shards().front()->file().direct(), nullptr);
  const WeightReader reader = model.weights();
  const WeightReader expected = plain.reader(model.extent());
  EXPECT_EQ(reader.names(), expected.names());
  for (int64_t layer = 0; layer <= model.last_layer; ++layer) {
    EXPECT_TRUE(reader.load(layer).qkv.equal(expected.load(layer).qkv));
  }
  EXPECT_EQ(reader.digest(), expected.digest());
  EXPECT_FALSE(first->shards().front()->file().direct()->has_unrequested_bytes(0, 1));
  ahead.begin("b");
  EXPECT_NE(ahead.ready("b"), first);
}

TEST(ReadAhead, OpensAgainWhatWasReplaced) {
  TinyCheckpoint tiny;
  ModelOptions options;
  options.model = tiny.open().checkpoint->folder();
  Timeline timeline;
  ReadAhead ahead({{options, "a"}}, timeline, true);
  ahead.begin("a");
  const ReadAhead::Opened before = ahead.ready("a");
  EXPECT_TRUE(before->is_current());
  tiny.config["rope_theta"] = 5e5;
  tiny.open();
  EXPECT_FALSE(before->is_current());
  const ReadAhead::Opened after = ahead.ready("a");
  EXPECT_NE(after, before);
  EXPECT_EQ(after->config().number("rope_theta"), 5e5);
}

TEST(ReadAhead, OpensNoRandomModel) {
  TinyCheckpoint tiny;
  ModelOptions options;
  options.model = tiny.open().checkpoint->folder();
  options.random = 1;
  Timeline timeline;
  ReadAhead ahead({{options, "a"}}, timeline, true);
  ahead.begin("a");
  EXPECT_EQ(ahead.ready("a"), nullptr);
}

TEST(ReadAhead, OpeningDirectlyFailsAsOpeningDoes) {
  ModelOptions options;
  options.model = "/there/is/no/such/folder";
  Timeline timeline;
  ReadAhead ahead({{options, "a"}}, timeline, true);
  ahead.begin("a");
  EXPECT_THROW(ahead.ready("a"), SystemError);
}

}  // namespace
}  // namespace ropewalk
