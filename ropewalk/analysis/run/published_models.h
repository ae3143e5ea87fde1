#pragma once

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Numbers published for eleven models at one context: "other_models" of
// data/reference/smollm3.json, which is compiled into the library (docs/cli.md says what is in it).
const Json& published_models();

}  // namespace ropewalk
