#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace ropewalk {

// Ways to end a program that no exception can: it computes on long after a signal arrived, or what
// it reads has been cut off under its hands. interrupt.h puts them to use.

// What has to be undone if the program ends while this object lives: a file under a temporary name,
// say. `undo` may be called from another thread; it must not throw.
class ExitCleanup {
 public:
  explicit ExitCleanup(std::function<void()> undo);
  ~ExitCleanup();
  ExitCleanup(const ExitCleanup&) = delete;
  ExitCleanup& operator=(const ExitCleanup&) = delete;
};

// Whether the caller is the first to end the program; the others leave the last word to it.
bool is_first_to_end();

// Calls what every Undo has.
void run_exit_cleanups();

// Undoes everything, writes an error line and ends the process. Where somebody else was
// first to end the program, gives it half a second to do so and writes nothing.
[[noreturn]] void end_process(int exit_code, const std::string& line);

// A file's memory, remembered by address: a signal handler finds the file by it. `path` must live
// until `forget_mapping`.
void remember_mapping(const std::byte* data, size_t size, const char* path);
void forget_mapping(const std::byte* data);
// The path, or null. May be called from a signal handler.
const char* mapping_at(const void* address);

}  // namespace ropewalk
