// Stands in for mpi.cpp where the program is built without MPI: one process.

#include <cstdlib>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes.h"

namespace ropewalk::processes {

void start() {
  const Launcher launcher = find_launcher([](const char* name) { return std::getenv(name); });
  if (launcher.count == 1) return;
  throw UsageError(
      "{} started {} processes, but this program was built without MPI; build it where CMake finds "
      "MPI, or capture with --shard i/n and join with merge",
      launcher.name, launcher.count);
}

void finish() {}
void abort(int) {}
void first_before_others(const std::function<void()>& work) { work(); }
void share(std::span<std::byte>) {}
int64_t share(int64_t number) { return number; }
std::string share(std::string text) { return text; }
void send(int, std::span<double>) {}
void receive(int, std::span<double>) {}

}  // namespace ropewalk::processes
