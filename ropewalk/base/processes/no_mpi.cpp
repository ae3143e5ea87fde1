// Replaces mpi.cpp in builds without MPI: there is one process.

#include <cstdlib>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/launcher.h"

namespace ropewalk {

Communicator join_launched_processes() {
  const Launcher launcher = find_launcher([](const char* name) { return std::getenv(name); });
  if (launcher.count == 1) return {};
  throw UsageError(
      "{} started {} processes, but this program was built without MPI; build it on a machine with "
      "MPI, or capture with --shard i/n and join with merge",
      launcher.name, launcher.count);
}

}  // namespace ropewalk
