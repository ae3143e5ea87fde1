#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What figures, comparisons and the report's page take for granted of the files they show. Each
// throws InputError naming `source` and the key that is missing or of another kind; other keys may
// be there.
void check_summary(const Json& summary, const std::string& source);
void check_manifest(const Json& manifest, const std::string& source);

// Reads and checks one.
Json read_summary(const std::filesystem::path& path);

}  // namespace ropewalk
