#pragma once

#include <filesystem>
#include <string_view>

namespace ropewalk::fuzz {

// The input of a target: bytes from elsewhere, also available as a file in memory.
struct Input {
  std::string_view bytes;
  std::filesystem::path path;
};

// The one function of a target: reads the input like the program would, and uses the result. Errors
// of base/error.h are correct answers to bad input; any other exception is a finding.
void read(const Input& input);

// Ends the program where a result breaks the promises of its reader.
void require(bool promise, const char* what);

}  // namespace ropewalk::fuzz
