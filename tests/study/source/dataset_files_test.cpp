#include "ropewalk/study/source/dataset_files.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

std::vector<HubFile> hub_files(const std::vector<std::string>& names) {
  std::vector<HubFile> files;
  for (const std::string& name : names) files.push_back({name, "", 1});
  return files;
}

std::vector<std::string> names_of(const std::vector<HubFile>& files) {
  std::vector<std::string> names;
  for (const HubFile& file : files) names.push_back(file.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(DatasetFiles, PatternsStayWithinFolders) {
  EXPECT_TRUE(matches_pattern("a/b.parquet", "a/*.parquet"));
  EXPECT_FALSE(matches_pattern("a/b/c.parquet", "a/*.parquet"));
  EXPECT_TRUE(matches_pattern("a/b/c.parquet", "a/**/*.parquet"));
  EXPECT_TRUE(matches_pattern("a/c.parquet", "a/**/*.parquet")) << "'**' may stand for no folder";
  EXPECT_TRUE(matches_pattern("a/b/c.parquet", "**"));
  EXPECT_TRUE(matches_pattern("x/7/c", "x/[0-9]/?"));
  EXPECT_FALSE(matches_pattern("x/77/c", "x/[0-9]/?"));
  EXPECT_FALSE(matches_pattern("c", "x/**/c"));
}

TEST(DatasetFiles, HiddenFilesAreAskedForByName) {
  EXPECT_FALSE(matches_pattern(".a/b.jsonl", "**"));
  EXPECT_FALSE(matches_pattern("a/.b.jsonl", "a/*"));
  EXPECT_TRUE(matches_pattern("a/.b.jsonl", "a/.*"));
  EXPECT_FALSE(matches_pattern("__old__/b.jsonl", "**"));
  EXPECT_TRUE(matches_pattern("__old__/b.jsonl", "__old__/*"));
  EXPECT_TRUE(matches_pattern("__b.jsonl", "*")) << "folders alone";
}

// The time for a pattern must not grow quickly with the number of its stars.
TEST(DatasetFiles, ManyStarsTakeNoTime) {
  std::string path;
  std::string pattern;
  for (int i = 0; i < 200; ++i) {
    path += "a/";
    pattern += "**/a/";
  }
  EXPECT_FALSE(matches_pattern(path + "a", pattern + "b"));
}

TEST(DatasetFiles, FilesComeInTheOrderOfPatternsThenOfNames) {
  const auto files = hub_files({"b.jsonl", "a.jsonl", "c.jsonl", "notes.txt", "config.json"});
  EXPECT_EQ(names_of(matching_files(files, {"c*", "*"})), (Names{"c.jsonl", "a.jsonl", "b.jsonl"}));
}

TEST(DatasetFiles, ShardsWinOverFoldersAndNames) {
  const SplitFiles splits = guess_splits(
      hub_files({"data/odd-of-it-00000-of-00001.parquet", "data/test-00001-of-00002-ab.parquet",
                 "data/test-00000-of-00002-ab.parquet", "train/a.parquet"}),
      "", "");
  EXPECT_EQ(splits.size(), 2);
  EXPECT_EQ(names_of(splits.at("test")),
            (Names{"data/test-00000-of-00002-ab.parquet", "data/test-00001-of-00002-ab.parquet"}));
}

TEST(DatasetFiles, WordsOfSplitsStandAlone) {
  const auto files = hub_files({"my-valid.parquet", "validated.parquet", "x/train_1.parquet"});
  const SplitFiles splits = guess_splits(files, "", "");
  EXPECT_EQ(names_of(splits.at("validation")), Names{"my-valid.parquet"});
  EXPECT_EQ(names_of(splits.at("train")), Names{"x/train_1.parquet"});
  EXPECT_FALSE(splits.contains("test"));
}

TEST(DatasetFiles, AnySplitCanBeAskedFor) {
  const auto files = hub_files({"train.jsonl", "unseen.jsonl"});
  EXPECT_FALSE(guess_splits(files, "", "").contains("unseen"));
  EXPECT_EQ(names_of(guess_splits(files, "", "unseen").at("unseen")), Names{"unseen.jsonl"});
  EXPECT_FALSE(guess_splits(files, "", "*").contains("*")) << "a name is no pattern";
}

TEST(DatasetFiles, ConvertedBranchesHaveConfigurations) {
  const auto configs =
      converted_splits(hub_files({"default/test/0001.parquet", "default/test/0000.parquet",
                                  "en/partial-train/0.parquet", "README.md", "loose.parquet"}));
  EXPECT_EQ(configs.size(), 2);
  EXPECT_EQ(names_of(configs.at("default").at("test")),
            (Names{"default/test/0000.parquet", "default/test/0001.parquet"}));
  EXPECT_TRUE(configs.at("en").contains("train"));
}

}  // namespace
}  // namespace ropewalk
