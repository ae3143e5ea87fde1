#include "ropewalk/base/processes/launcher.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace ropewalk {

Launcher find_launcher(const std::function<const char*(const char*)>& environment) {
  // For Slurm, only the variable that srun sets counts: a batch script has the job's variables too,
  // but is one process.
  static constexpr std::pair<const char*, const char*> kSizes[] = {
      {"OMPI_COMM_WORLD_SIZE", "mpirun"},  // Open MPI
      {"PMI_SIZE", "mpirun"},              // MPICH, Intel MPI; srun --mpi=pmi2
      {"PALS_SIZE", "mpiexec"},            // HPE Cray
      {"SLURM_STEP_NUM_TASKS", "srun"}};
  // The first variable that is set counts, because launchers start each other.
  for (const auto& [variable, name] : kSizes) {
    const char* text = environment(variable);
    if (text == nullptr) continue;
    int size = 0;
    std::from_chars(text, text + std::strlen(text), size);
    return size > 1 ? Launcher{name, size} : Launcher();
  }
  return {};
}

}  // namespace ropewalk
