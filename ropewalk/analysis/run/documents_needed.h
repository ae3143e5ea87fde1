#pragma once

#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// One sentence, with its full stop, about how many documents a given precision needs: standard
// errors fall with the square root of the number of documents, and `summary` (summary.h) has the
// largest one of mean r_q and mean r_k. Empty where it has none.
std::string documents_needed(const Json& summary);

}  // namespace ropewalk
