#include "ropewalk/figures/render.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

const std::vector<Figure> kFigures{{"one", Json{{"mark", "point"}}}, {"two", Json::object()}};

TEST(Render, WritesSpecificationsWithoutPython) {
  const TemporaryFolder folder;
  write_figures(kFigures, folder.path() / "new" / "figures", {});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "new/figures/one.vl.json"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "new/figures/two.vl.json"));
}

TEST(Render, SaysWhatToInstall) {
  const TemporaryFolder folder;
  ::setenv("ROPEWALK_PYTHON", "no-such-python", 1);
  try {
    write_figures(kFigures, folder.path(), {"png"});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-python: cannot run"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("pip install vl-convert-python"), std::string::npos);
  }
  ::unsetenv("ROPEWALK_PYTHON");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "one.vl.json"));
}

// Stands in for Python: whatever it is asked to run, it answers with a script's output.
TEST(Render, WritesWhatTheRendererReturns) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python",
                   "#!/bin/sh\ncat >/dev/null\nprintf '{\"figure\": \"one\", \"format\": \"svg\", "
                   "\"bytes\": 5}\\nhello'\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ::setenv("ROPEWALK_PYTHON", python.c_str(), 1);
  write_figures(kFigures, folder.path() / "out", {"svg"});
  ::unsetenv("ROPEWALK_PYTHON");
  std::ifstream file(folder.path() / "out/one.svg");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
}

TEST(Render, PassesOnWhyRenderingFailed) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python", "#!/bin/sh\necho trace >&2\necho 'one: bad' >&2\nexit 1\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ::setenv("ROPEWALK_PYTHON", python.c_str(), 1);
  try {
    write_figures(kFigures, folder.path() / "out", {"svg"});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_TRUE(std::string(error.what()).ends_with("failed with exit code 1: one: bad"));
  }
  ::unsetenv("ROPEWALK_PYTHON");
}

TEST(Render, RefusesUnknownFormats) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_figures(kFigures, folder.path(), {"gif"}), UsageError);
}

}  // namespace
}  // namespace ropewalk
