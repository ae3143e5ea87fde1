#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A step from inputs to files of a results folder: tables, figures, the report. It is up to date
// when its inputs are those of its record and its files are as they were written; nothing else
// decides that.
struct Stage {
  std::string name;
  Json inputs;  // everything that the files depend on
  // Makes the files; returns their names, relative to the results folder.
  std::function<std::vector<std::filesystem::path>()> make;
};

// What a stage leaves in the manifest: {"inputs": …, "files": {name: SHA-256}}. `former` is what an
// earlier run left, of any shape. Returns the record that holds now. Files of `former` that are no
// longer made are removed, where they are still what was written then.
Json run_stage(const std::filesystem::path& folder, const Stage& stage, const Json& former);

// Removes the files of a record, where they are still what was written then and `kept`, an object
// by their names, does not have them.
void remove_made(const std::filesystem::path& folder, const Json& record,
                 const Json& kept = Json::object());

// The files of a record of any shape, {name: SHA-256}.
Json recorded_files(const Json& record);
// The same without hashes, relative to the results folder.
std::vector<std::filesystem::path> files_of(const Json& record);

}  // namespace ropewalk
