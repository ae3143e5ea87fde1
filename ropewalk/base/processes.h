#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace ropewalk {

// The processes of one job, which mpirun or srun started together; without those, this one alone.
// What is called collective must be called by every process, in the same order, and returns once
// the numbers are there. While a process waits for the others it sleeps, and throws Interrupted
// where a signal comes. Alone, everything here is free.
namespace processes {

// Joins the others where a launcher started several. Throws UsageError where that cannot be: the
// program was built without MPI, or the launcher and MPI do not know each other. Collective.
void start();
// Leaves them, all being done. Collective.
void finish();
// Ends every process of the job; returns where this one is alone. Not collective.
void abort(int exit_code);

int rank();         // from 0
int count();        // 1 where this process is alone
int local_rank();   // among those on this machine
int local_count();  // of those on this machine
inline bool first() { return rank() == 0; }

// The first process does `work`, then all others do: what is wrong for everybody is said once, and
// what the first one downloads the others find. Collective.
void first_before_others(const std::function<void()>& work);

// The first process's bytes or number, in every process. Collective.
void share(std::span<std::byte> bytes);
int64_t share(int64_t number);
std::string share(std::string text);

// From one process to another, which waits for as many.
void send(int to, std::span<double> numbers);
void receive(int from, std::span<double> numbers);

// How many processes the launcher says it started, 1 where there is none.
struct Launcher {
  std::string name;  // for messages; empty: none
  int count = 1;
};
Launcher find_launcher(const std::function<const char*(const char*)>& environment);

// For `start` alone.
struct Place {
  int rank = 0;
  int count = 1;
  int local_rank = 0;
  int local_count = 1;
};
void set_place(const Place& place);

}  // namespace processes
}  // namespace ropewalk
