#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

struct ChildCommand {
  std::string program;                 // a path, or a name to look for in PATH
  std::vector<std::string> arguments;  // without the program's own name
  std::string_view input;              // its standard input
};

struct ChildResult {
  int exit_code = 0;   // 128 + n where signal n ended it
  std::string output;  // its standard output
  std::string errors;  // the last 64 KiB of its standard error
};

// Runs a program to its end. Throws SystemError naming the program when it cannot be started, and
// Interrupted when a signal arrives meanwhile; the child is then ended first. Whatever its exit
// code, the result is returned.
ChildResult run_child(const ChildCommand& command);

}  // namespace ropewalk
