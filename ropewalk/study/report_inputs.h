#pragma once

#include <string>

#include "ropewalk/base/json.h"

namespace ropewalk {

// What the report's page takes for granted of the files it shows. Each throws InputError naming
// `source` and the key that is missing or of another kind; other keys may be there.
void check_summary(const Json& summary, const std::string& source);
void check_manifest(const Json& manifest, const std::string& source);

}  // namespace ropewalk
