#include "ropewalk/study/capture_store.h"

#include <gtest/gtest.h>

#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/study/capture.h"
#include "tests/moments/empty_moments.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

class CaptureStoreTest : public testing::Test {
 protected:
  fs::path out() const { return folder_.path(); }
  // A capture that can be told from others by its context.
  void write(const std::string& place, int64_t context, double seconds) const {
    CaptureMoments moments = empty_moments(1);
    moments.info.context = context;
    moments.info.seconds = seconds;
    moments.info.label = fs::path(place).filename().string();
    fs::create_directories(out() / place);
    write_moments(out() / place / kMomentsName, moments);
    write_file_atomically(out() / place / kCaptureName, moments.info.to_json().dump());
  }
  bool there(const std::string& place) const { return fs::exists(out() / place); }

  TemporaryFolder folder_;
};

TEST_F(CaptureStoreTest, QuickOnesAreRemovedLongOnesMovedAside) {
  write("checkpoints/quick", 1, 5);
  write("checkpoints/long", 2, 500);
  CaptureStore store(out());
  store.clear("quick");
  store.clear("long");
  store.clear("nothing");
  EXPECT_FALSE(there("checkpoints/quick"));
  EXPECT_FALSE(there("checkpoints/long"));
  EXPECT_TRUE(there("replaced/long-1/moments.safetensors"));
  EXPECT_EQ(CaptureStore(out()).captures().size(), 1);
}

TEST_F(CaptureStoreTest, NothingButCapturesIsRemoved) {
  write("checkpoints/A", 1, 5);
  write_file_atomically(out() / "checkpoints/A/notes.txt", "mine");
  CaptureStore store(out());
  EXPECT_TRUE(store.captures().empty());
  EXPECT_THROW(store.clear("A"), InputError);
  store.prune({});
  EXPECT_TRUE(there("checkpoints/A/notes.txt"));
  EXPECT_TRUE(there("checkpoints/A/capture.json"));
}

TEST_F(CaptureStoreTest, WhatLooksLikeACapture) {
  write("checkpoints/A", 1, 5);
  fs::create_directories(out() / "checkpoints/A/vectors/l00h01q");
  write_file_atomically(out() / "checkpoints/A/vectors/l00h01q/data.parquet", "");
  EXPECT_TRUE(is_capture(out() / "checkpoints/A"));
  write_file_atomically(out() / "checkpoints/A/vectors/l00h01q/mine.txt", "");
  EXPECT_FALSE(is_capture(out() / "checkpoints/A"));
  fs::create_directories(out() / "empty");
  EXPECT_FALSE(is_capture(out() / "empty"));
  write("B", 1, 5);
  fs::create_directory_symlink(out() / "B", out() / "link");
  EXPECT_FALSE(is_capture(out() / "link"));
}

TEST_F(CaptureStoreTest, SwappedNames) {
  write("checkpoints/A", 1, 5);
  write("checkpoints/B", 2, 5);
  CaptureStore store(out());
  for (StoredCapture& capture : store.captures()) capture.in_use = true;
  for (StoredCapture& capture : store.captures()) {
    CaptureInfo info = capture.info;
    info.label = info.label == "A" ? "B" : "A";
    store.adopt(capture, info);
  }
  CaptureStore now(out());
  EXPECT_EQ(now.at("A")->info.context, 2);
  EXPECT_EQ(now.at("A")->info.label, "A");
  EXPECT_EQ(now.at("B")->info.context, 1);
}

TEST_F(CaptureStoreTest, UnusedOnesAreListedAndPruned) {
  write("checkpoints/A", 1, 5);
  write("replaced/A-1", 2, 500);
  CaptureStore store(out());
  store.captures().front().in_use = true;
  ASSERT_EQ(store.unused({}).size(), 1);
  EXPECT_EQ(store.unused({}).front(), out() / "replaced/A-1");
  store.prune({});
  EXPECT_TRUE(there("checkpoints/A"));
  EXPECT_FALSE(there("replaced"));
}

TEST_F(CaptureStoreTest, PruningRemovesNoFileByTheNameOfItsFolder) {
  write_file_atomically(out() / "replaced", "mine");
  EXPECT_THROW(CaptureStore{out()}, SystemError);
  fs::remove(out() / "replaced");
  CaptureStore store(out());
  write_file_atomically(out() / "replaced", "mine");
  store.prune({});
  EXPECT_TRUE(there("replaced"));
}

TEST_F(CaptureStoreTest, DamagedOnesAreNotUsed) {
  write("checkpoints/A", 1, 5);
  write_file_atomically(out() / "checkpoints/A" / kCaptureName, R"({"format": 1, "hub": 5})");
  CaptureStore store(out());
  EXPECT_TRUE(store.captures().empty());
  EXPECT_TRUE(store.damaged("A"));
  store.clear("A");
  EXPECT_FALSE(there("checkpoints/A"));
}

}  // namespace
}  // namespace ropewalk
