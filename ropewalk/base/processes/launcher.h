#pragma once

#include <functional>
#include <string>

namespace ropewalk {

class Communicator;

// The program that started this process together with others: mpirun or srun.
struct Launcher {
  std::string name;  // for messages; empty where there is none
  int count = 1;     // number of processes it says it started
};
// `environment` is std::getenv or a stand-in for it.
Launcher find_launcher(const std::function<const char*(const char*)>& environment);

// Returns the processes that a launcher started together with this one; without a launcher, this
// process alone. Throws UsageError where they cannot find each other: the program was built without
// MPI, or the launcher and MPI do not know each other. Call it once per program. Collective.
Communicator join_launched_processes();

}  // namespace ropewalk
