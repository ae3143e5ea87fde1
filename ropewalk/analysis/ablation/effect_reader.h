#pragma once

#include <filesystem>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What removing or editing sets of heads costs, read from ablate.csv and ablate_controls.csv of a
// results folder for the report's page (docs/report.md): one entry per row, with the heads of its
// set. Null where the files do not exist. Throws InputError where a file is not such a table.
Json read_effects(const std::filesystem::path& folder);

}  // namespace ropewalk
