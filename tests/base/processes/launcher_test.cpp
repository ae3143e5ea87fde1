#include "ropewalk/base/processes/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace ropewalk {
namespace {

Launcher found(const std::map<std::string, std::string>& variables) {
  return find_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, FindsTheLauncher) {
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "4"}}).count, 4);
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "4"}}).name, "mpirun");
  EXPECT_EQ(found({{"PMI_SIZE", "3"}}).count, 3);
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_RANK", "1"}}).count, 8);
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "8"}}).name, "srun");
}

TEST(Launcher, OneProcessHasNone) {
  EXPECT_EQ(found({}).count, 1);
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "1"}}).count, 1);
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "what"}}).count, 1);
  EXPECT_EQ(found({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}).count, 1)
      << "a batch script of a job of eight tasks";
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}).count, 1)
      << "mpirun -n 1, which started its own daemons with srun";
}

}  // namespace
}  // namespace ropewalk
