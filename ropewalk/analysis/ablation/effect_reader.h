#pragma once

#include <filesystem>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What taking something away from sets of heads costs, of the ablate.csv and ablate_controls.csv of
// a results folder, as the report's page reads it (docs/report.md): one entry per row, with the
// heads of its set. Null where the files are not there. Throws InputError where one is no such
// table.
Json read_effects(const std::filesystem::path& folder);

}  // namespace ropewalk
