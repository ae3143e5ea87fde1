#include "ropewalk/study/capture/capture_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/capture_files.h"
#include "ropewalk/study/capture/written_capture.h"
#include "tests/moments/files/empty_moments.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

class CaptureStoreTest : public testing::Test {
 protected:
  fs::path out() const { return folder_.path(); }
  // Writes a capture that is recognised by its context.
  void write(const std::string& folder, int64_t context, double seconds) const {
    CaptureMoments moments = empty_moments(1);
    moments.info.context = context;
    moments.info.seconds = seconds;
    moments.info.label = fs::path(folder).filename().string();
    fs::create_directories(out() / folder);
    write_moments(out() / folder / kMomentsName, moments);
    write_file_atomically(out() / folder / kCaptureName, moments.info.to_json().dump());
  }
  bool there(const std::string& folder) const { return fs::exists(out() / folder); }
  // OUT/replaced/DATE/NAME; there is only one date.
  fs::path replaced(const std::string& name) const {
    std::error_code ignored;
    for (const auto& day : fs::directory_iterator(out() / "replaced", ignored)) {
      if (fs::exists(day.path() / name)) return day.path() / name;
    }
    return out() / "replaced" / name;
  }

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
  EXPECT_TRUE(fs::exists(replaced("long") / kMomentsName));
  EXPECT_TRUE(CaptureStore(out()).captures().empty()) << "it is not read again";
  write("checkpoints/long", 3, 500);
  CaptureStore again(out());
  again.clear("long");
  EXPECT_TRUE(fs::exists(replaced("long") / kMomentsName));
  EXPECT_TRUE(fs::exists(replaced("long-1") / kMomentsName)) << "both are kept";
}

// Where a description is damaged, the time that the capture took is unknown.
TEST_F(CaptureStoreTest, DamagedOnesMayHaveTakenLong) {
  for (const char* label : {"quick", "long", "unknown"})
    write(fmt::format("checkpoints/{}", label), 1, 5);
  const auto describe = [&](const char* label, const char* text) {
    write_file_atomically(out() / "checkpoints" / label / kCaptureName, text);
  };
  describe("quick", R"({"format": 99, "seconds": 5})");
  describe("long", R"({"format": 99, "seconds": 5000})");
  describe("unknown", "{");
  CaptureStore store(out());
  for (const char* label : {"quick", "long", "unknown"}) {
    EXPECT_TRUE(store.damaged(label));
    store.clear(label);
    EXPECT_FALSE(fs::exists(out() / "checkpoints" / label));
    EXPECT_EQ(fs::exists(replaced(label)), label != std::string("quick"));
  }
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

TEST_F(CaptureStoreTest, WhatDesktopsLeaveIsNobodysWork) {
  write("checkpoints/A", 1, 5);
  fs::create_directories(out() / "checkpoints/A/vectors/l00h01q");
  for (const char* litter :
       {".DS_Store", "._capture.json", "vectors/.DS_Store", "vectors/l00h01q/Thumbs.db"}) {
    write_file_atomically(out() / "checkpoints/A" / litter, "");
  }
  EXPECT_TRUE(is_capture(out() / "checkpoints/A"));
  write_file_atomically(out() / "checkpoints/A/.notes", "mine");
  write_file_atomically(out() / "checkpoints/A/vectors/l00h01q/mine.txt", "mine");
  fs::create_directories(out() / "checkpoints/A/._mine");
  EXPECT_FALSE(is_capture(out() / "checkpoints/A"));
  const fs::path a = out() / "checkpoints/A";
  EXPECT_EQ(foreign_files_in(a),
            (std::vector{a / "._mine", a / ".notes", a / "vectors/l00h01q/mine.txt"}));
  fs::create_directories(out() / "checkpoints/B");
  write_file_atomically(out() / "checkpoints/B/weights.bin", "mine");
  EXPECT_EQ(foreign_files_in(out() / "checkpoints/B"), std::vector{out() / "checkpoints/B"});
}

// Every run checks their sizes; the analysis of a capture checks their hash.
TEST_F(CaptureStoreTest, VectorsAreAsTheyWereWritten) {
  write("checkpoints/A", 1, 5);
  const fs::path folder = out() / "checkpoints/A";
  const auto put = [&](const char* stream, const char* text) {
    fs::create_directories(folder / "vectors" / stream);
    write_file_atomically(folder / "vectors" / stream / "data.parquet", text);
  };
  CaptureInfo info = CaptureStore(out()).at("A")->info;
  info.config =
      Json{{"layers", 1}, {"n_q_heads", 4}, {"n_kv_heads", 2}, {"nope_layers", Json::array()}};
  info.heads = {{0, 2}, {0, 3}};
  info.vectors.emplace();
  put("l00h02q", "queries");
  put("l00h01k", "keys");
  info = describe_in(folder, info);  // nothing was sampled of head 3
  ASSERT_TRUE(info.vector_files);
  EXPECT_EQ(info.vector_files->bytes, 11);
  const auto usable = [&] { return CaptureStore(out()).at("A") != nullptr; };
  const auto whole = [&] { return is_complete({folder, info}); };
  EXPECT_TRUE(usable() && whole());
  put("l00h01k", "kez");
  EXPECT_FALSE(usable());
  put("l00h01k", "kezs");
  EXPECT_TRUE(usable());
  EXPECT_FALSE(whole());
  put("l00h01k", "keys");
  EXPECT_TRUE(whole());
  fs::rename(folder / "vectors/l00h02q", folder / "vectors/l00h03q");
  EXPECT_FALSE(whole()) << "they are another head's";
  fs::rename(folder / "vectors/l00h03q", folder / "vectors/l00h02q");
  EXPECT_TRUE(usable() && whole());
  info.vector_files.reset();
  write_file_atomically(folder / kCaptureName, info.to_json().dump());
  EXPECT_FALSE(usable()) << "nobody knows what they were";
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
  write("replaced/2026-11-19/A", 2, 500);
  CaptureStore store(out());
  ASSERT_EQ(store.captures().size(), 1);
  store.captures().front().in_use = true;
  EXPECT_EQ(store.unused({}), std::vector{out() / "replaced/2026-11-19/A"});
  store.prune({});
  EXPECT_TRUE(there("checkpoints/A"));
  EXPECT_FALSE(there("replaced"));
}

TEST_F(CaptureStoreTest, PruningRemovesNoFileByTheNameOfItsFolder) {
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
  EXPECT_TRUE(fs::exists(replaced("A")));
}

}  // namespace
}  // namespace ropewalk
