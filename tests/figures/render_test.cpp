#include "ropewalk/figures/render.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ropewalk/base/error.h"
#include "ropewalk/companion/companion.h"
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
  end_shared_companion();
  ::setenv("ROPEWALK_PYTHON", "no-such-python", 1);
  try {
    write_figures(kFigures, folder.path(), {"png"});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-python: cannot run"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("pip install vl-convert-python"), std::string::npos);
  }
  end_shared_companion();
  ::unsetenv("ROPEWALK_PYTHON");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "one.vl.json"));
}

// Replaces vl-convert: PYTHONPATH comes before installed packages.
class FakeRenderer {
 public:
  explicit FakeRenderer(const std::string& to_svg) {
    folder_.write("vl_convert.py",
                  "__version__ = '0'\n"
                  "def get_vegalite_versions(): return ['6.1']\n"
                  "def vegalite_to_svg(spec, **_): " +
                      to_svg + "\n");
    ::setenv("PYTHONPATH", folder_.path().c_str(), 1);
  }
  ~FakeRenderer() {
    end_shared_companion();
    ::unsetenv("PYTHONPATH");
  }

 private:
  TemporaryFolder folder_;
};

TEST(Render, WritesWhatTheRendererReturns) {
  const TemporaryFolder folder;
  const FakeRenderer renderer("print('in nobody\\'s way'); return 'hello'");
  write_figures(kFigures, folder.path() / "out", {"svg"});
  for (const char* name : {"out/one.svg", "out/two.svg"}) {
    std::ifstream file(folder.path() / name);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
  }
}

TEST(Render, PassesOnWhyRenderingFailed) {
  const TemporaryFolder folder;
  const FakeRenderer renderer("raise ValueError('bad')");
  try {
    write_figures(kFigures, folder.path() / "out", {"svg"});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "figures cannot be rendered: one: bad");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/one.svg"));
}

TEST(Render, RefusesUnknownFormats) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_figures(kFigures, folder.path(), {"gif"}), UsageError);
}

}  // namespace
}  // namespace ropewalk
