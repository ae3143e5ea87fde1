#include "ropewalk/base/processes/free_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

// A /proc and the control groups to which it refers.
class FreeMemory : public testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    const fs::path file = folder_.path() / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string mount(const std::string& root, const fs::path& at, const std::string& rest) const {
    return fmt::format("30 23 0:26 {} {} rw,nosuid shared:4 - {}\n", root,
                       (folder_.path() / at).string(), rest);
  }
  int64_t found() const { return free_memory(folder_.path() / "proc"); }

  void SetUp() override {
    write("proc/meminfo", "MemTotal: 2000 kB\nMemFree: 10 kB\nMemAvailable:    1000 kB\n");
  }
  TemporaryFolder folder_;
};

TEST_F(FreeMemory, OfTheMachine) { EXPECT_EQ(found(), 1000 * 1024); }

TEST_F(FreeMemory, SecondVersionTakesTheLeastUpTheTree) {
  write("proc/self/cgroup", "0::/slice/job/step\n");
  write("proc/self/mountinfo", mount("/", "cg", "cgroup2 cgroup2 rw"));
  write("cg/slice/job/step/memory.max", "max\n");
  write("cg/slice/job/step/memory.current", "900\n");
  EXPECT_EQ(found(), 1000 * 1024) << "no limit";
  write("cg/slice/memory.max", "90000\n");
  write("cg/slice/memory.current", "70000\n");
  EXPECT_EQ(found(), 20000);
  write("cg/slice/job/memory.max", "50000\n");
  write("cg/slice/job/memory.current", "48000\n");
  EXPECT_EQ(found(), 2000);
  write("cg/slice/job/memory.stat", "anon 7\ninactive_file 1500\nactive_file 100\nfile 9999\n");
  EXPECT_EQ(found(), 3600) << "pages of files can be dropped";
  write("cg/slice/job/step/memory.high", "1000\n");
  EXPECT_EQ(found(), 100) << "where it is slowed down";
  write("cg/slice/job/step/memory.high", "800\n");
  EXPECT_EQ(found(), 0);
}

TEST_F(FreeMemory, FirstVersion) {
  write("proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/job\n0::/unified\n");
  write("proc/self/mountinfo", mount("/", "cpu", "cgroup cgroup rw,cpu,cpuacct") +
                                   mount("/", "unified", "cgroup2 cgroup2 rw") +
                                   mount("/", "me\\040mory", "cgroup cgroup rw,memory"));
  write("me mory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(found(), 1000 * 1024) << "no limit";
  write("me mory/job/memory.limit_in_bytes", "60000\n");
  write("me mory/job/memory.usage_in_bytes", "50000\n");
  write("me mory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 400\ntotal_active_file 6\n");
  EXPECT_EQ(found(), 10406);
}

// A container sees its own part of the hierarchy, by another path than the host's.
TEST_F(FreeMemory, InsideAContainer) {
  write("cg/memory.max", "70000\n");
  write("cg/memory.current", "10000\n");
  write("cg/deep/memory.max", "500\n");
  for (const auto& [root, path] :
       {std::pair("/docker/abc", "/docker/abc"), std::pair("/docker/abc", "/elsewhere/deep"),
        std::pair("/", "/../../deep")}) {
    write("proc/self/cgroup", fmt::format("0::{}\n", path));
    write("proc/self/mountinfo", mount(root, "cg", "cgroup2 cgroup2 rw"));
    EXPECT_EQ(found(), 60000) << path;
  }
  write("proc/self/cgroup", "0::/docker/abc/deep\n");
  write("proc/self/mountinfo", mount("/docker/abc", "cg", "cgroup2 cgroup2 rw"));
  EXPECT_EQ(found(), 500);
}

TEST_F(FreeMemory, NothingKnown) {
  fs::remove_all(folder_.path() / "proc");
  EXPECT_GT(found(), int64_t{1} << 30);
  write("proc/self/cgroup", "nonsense\n0:\n");
  write("proc/self/mountinfo", "nonsense\n - \n1 - cgroup2 x y\n");
  EXPECT_GT(found(), int64_t{1} << 30);
}

}  // namespace
}  // namespace ropewalk
