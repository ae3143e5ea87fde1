#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace ropewalk {

// Ends a program where no exception can: it keeps computing long after a signal, or a file that it
// reads was truncated. interrupt.h uses these functions.

// A cleanup that must run if the program ends while this object lives, such as removing a file
// under a temporary name. `undo` may be called from another thread and must not throw.
class ExitCleanup {
 public:
  explicit ExitCleanup(std::function<void()> undo);
  ~ExitCleanup();
  ExitCleanup(const ExitCleanup&) = delete;
  ExitCleanup& operator=(const ExitCleanup&) = delete;
};

// Returns whether the caller is the first to end the program; only the first one cleans up and
// reports.
bool is_first_to_end();

// Sets memory aside for run_exit_cleanups(); programs call it when they start.
void reserve_memory_for_exit();

// Gives back the memory that was set aside, and calls the function of every ExitCleanup that lives.
void run_exit_cleanups();

// Runs all cleanups, writes an error line and ends the process. Where another thread was first to
// end the program, gives it half a second and writes nothing.
[[noreturn]] void end_process(int exit_code, const std::string& line);

// Remembers the address range of a mapped file, by which a signal handler finds its path. `path`
// must live until `forget_mapping`.
void remember_mapping(const std::byte* data, size_t size, const char* path);
void forget_mapping(const std::byte* data);
// The path of the file mapped at an address, or null. A signal handler may call it.
const char* mapping_at(const void* address);

}  // namespace ropewalk
