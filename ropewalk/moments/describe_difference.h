#pragma once

#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What differs between two identities (CaptureInfo::identity), in words: "context: 4096 → 8192".
// Empty: nothing.
std::string describe_difference(const Json& before, const Json& now);

// A value in a message: a text in quotes, or the beginning of its JSON.
std::string shown_value(const Json& value);

}  // namespace ropewalk
