#include "ropewalk/study/capture/stage.h"

#include <gtest/gtest.h>

#include "ropewalk/base/files/atomic_file.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

class StageTest : public testing::Test {
 protected:
  // Runs a stage that writes its text into each of the files.
  Json run(const Json& inputs, const std::vector<std::string>& files, const Json& former) {
    const auto make = [&] {
      ++made_;
      std::vector<fs::path> names;
      for (const std::string& file : files) {
        write_file_atomically(folder_.path() / file, inputs.dump());
        names.emplace_back(file);
      }
      return names;
    };
    return run_stage(folder_.path(), {"stage", inputs, make}, former);
  }
  bool there(const std::string& file) const { return fs::exists(folder_.path() / file); }

  TemporaryFolder folder_;
  int made_ = 0;
};

TEST_F(StageTest, RunsOnceForTheSameInputs) {
  Json record = run(1, {"a", "b"}, {});
  EXPECT_EQ(files_of(record), (std::vector<fs::path>{"a", "b"}));
  EXPECT_EQ(run(1, {"a", "b"}, record), record);
  EXPECT_EQ(made_, 1);
  run(2, {"a", "b"}, record);
  EXPECT_EQ(made_, 2);
}

TEST_F(StageTest, RunsAgainWhereAFileIsGoneOrChanged) {
  const Json record = run(1, {"a", "b"}, {});
  fs::remove(folder_.path() / "a");
  EXPECT_EQ(run(1, {"a", "b"}, record), record);
  EXPECT_TRUE(there("a"));
  write_file_atomically(folder_.path() / "b", "edited");
  run(1, {"a", "b"}, record);
  EXPECT_EQ(made_, 3);
}

TEST_F(StageTest, WhatWasMadeIsRemovedUnlessItChanged) {
  const Json record = run(1, {"a", "b", "c"}, {});
  write_file_atomically(folder_.path() / "b", "somebody else's by now");
  remove_made(folder_.path(), record, {{"c", "is made anew"}});
  EXPECT_FALSE(there("a"));
  EXPECT_TRUE(there("b"));
  EXPECT_TRUE(there("c"));
  remove_made(folder_.path(), 5);
}

TEST_F(StageTest, RemovesWhatItNoLongerMakesAndNothingElse) {
  const Json record = run(1, {"a", "b", "c"}, {});
  write_file_atomically(folder_.path() / "c", "somebody else's by now");
  write_file_atomically(folder_.path() / "d", "somebody else's");
  run(2, {"a"}, record);
  EXPECT_TRUE(there("a"));
  EXPECT_FALSE(there("b"));
  EXPECT_TRUE(there("c"));
  EXPECT_TRUE(there("d"));
}

TEST_F(StageTest, RecordsOfAnyShapeMeanThatItRuns) {
  for (const Json& former : {Json(), Json(5), Json::array(), Json{{"inputs", 3}, {"files", 4}},
                             Json{{"files", {{"../outside", "x"}, {"/etc/passwd", 7}}}}}) {
    run(1, {"a"}, former);
  }
  EXPECT_EQ(made_, 5);
}

}  // namespace
}  // namespace ropewalk
