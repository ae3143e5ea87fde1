#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A step that makes files of a results folder from inputs: tables, figures, the report. It is up to
// date where its inputs equal those in its record and its files have not changed; nothing else
// matters.
struct Stage {
  std::string name;
  Json inputs;  // everything that the files depend on
  // Makes the files; returns their names, relative to the results folder.
  std::function<std::vector<std::filesystem::path>()> make;
};

// Runs a stage unless it is up to date, and returns its record for the manifest: {"inputs": …,
// "files": {name: SHA-256}}. `former` is the record of an earlier run, which may have any shape.
// Files of `former` that are no longer made are removed if they were not changed since.
Json run_stage(const std::filesystem::path& folder, const Stage& stage, const Json& former);

// Removes the files of a record that were not changed since and are not keys of the object `kept`.
void remove_made(const std::filesystem::path& folder, const Json& record,
                 const Json& kept = Json::object());

// The files in a record of any shape, {name: SHA-256}.
Json recorded_files(const Json& record);
// The names of these files, relative to the results folder.
std::vector<std::filesystem::path> files_of(const Json& record);

}  // namespace ropewalk
