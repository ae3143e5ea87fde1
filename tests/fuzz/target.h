#pragma once

#include <filesystem>
#include <string_view>

namespace ropewalk::fuzz {

// What a target reads: bytes from elsewhere, also there as a file in memory.
struct Input {
  std::string_view bytes;
  std::filesystem::path path;
};

// The one function of a target: reads the input as the program would and uses what came of it.
// Errors of base/error.h are the answer to bad input; anything else that leaves here is a finding.
void read(const Input& input);

// Ends the program where something read breaks what its reader promises.
void require(bool promise, const char* what);

}  // namespace ropewalk::fuzz
