#include "ropewalk/study/experiment/ready_made.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

std::string message(const std::filesystem::path& asked) {
  try {
    find_experiment(asked);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ReadyMade, AWordNamesOneOfTheRepository) {
  const std::filesystem::path found = find_experiment("demo");
  EXPECT_EQ(found.filename(), "demo.yaml");
  EXPECT_TRUE(std::filesystem::exists(found));
  EXPECT_EQ(find_experiment("demo.yaml"), "demo.yaml") << "a file, there or not";
  EXPECT_EQ(find_experiment("folder/demo"), "folder/demo");
  EXPECT_NE(
      message("dmo").find("dmo: is neither a file nor a ready-made experiment; these are amber"),
      std::string::npos)
      << message("dmo");
}

TEST(ReadyMade, TheEnvironmentNamesAnotherFolderAndFilesComeFirst) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  ::setenv("ROPEWALK_EXPERIMENTS", folder.path().c_str(), 1);
  EXPECT_NE(message("mine").find(folder.path().string() + " has none"), std::string::npos);
  const std::filesystem::path ready = folder.write("mine.yaml", "name: x");
  EXPECT_EQ(find_experiment("mine"), ready);
  EXPECT_NE(message("demo").find("these are mine"), std::string::npos) << message("demo");
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("mine");
  EXPECT_EQ(find_experiment("mine"), ready) << "a folder is no experiment";
  std::filesystem::remove("mine");
  folder.write("mine", "name: y");
  EXPECT_EQ(find_experiment("mine"), "mine");
  EXPECT_EQ(ready_made_experiment("mine"), ready);
  std::filesystem::current_path(before);
  ::unsetenv("ROPEWALK_EXPERIMENTS");
}

}  // namespace
}  // namespace ropewalk
