#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ropewalk {

struct ExportOptions {
  std::filesystem::path capture;  // folder
  std::string to;                 // one of export_targets()
  std::filesystem::path out;
};

// Programs whose files a capture can become.
std::vector<std::string> export_targets();

// Writes the files that another program loads (docs/formats.md), and ropewalk.json, which says what
// they rest on. `out` appears only when everything is in it. Throws InputError where a capture does
// not hold what the program needs.
void export_capture(const ExportOptions& options);

}  // namespace ropewalk
