#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Checks the structure that figures, comparisons and the report's page expect of their files. Each
// throws InputError naming `source` and the key that is missing or of another kind; other keys are
// allowed.
void check_summary(const Json& summary, const std::string& source);
void check_manifest(const Json& manifest, const std::string& source);

// Reads a summary and checks it.
Json read_summary(const std::filesystem::path& path);

}  // namespace ropewalk
