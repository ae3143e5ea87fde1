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

// The programs for which a capture can be exported.
std::vector<std::string> export_targets();

// Writes the files that another program loads (docs/exports.md), and ropewalk.json, which says from
// what they were made. `out` appears only when it is complete. Throws InputError where a capture
// lacks what the program needs.
void export_capture(const ExportOptions& options);

}  // namespace ropewalk
