#pragma once

#include <functional>
#include <string>

namespace ropewalk {

class Communicator;

// What started this process together with others: mpirun, srun.
struct Launcher {
  std::string name;  // for messages; empty: none
  int count = 1;     // of processes it says it started
};
// `environment` is std::getenv, or stands in for it.
Launcher find_launcher(const std::function<const char*(const char*)>& environment);

// The processes that a launcher started together with this one; without a launcher, this process
// alone. Throws UsageError where they cannot find each other: the program was built without MPI, or
// the launcher and MPI do not know each other. Once per program; collective.
Communicator join_launched_processes();

}  // namespace ropewalk
