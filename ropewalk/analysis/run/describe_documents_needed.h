#pragma once

#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Returns one sentence, with its full stop, that says how many documents would give mean r_q and
// mean r_k a standard error of 0.005. It takes the largest standard error of both from `summary`
// (summary.h): errors fall with the square root of the number of documents. Returns an empty text
// where no error is known.
std::string describe_documents_needed(const Json& summary);

}  // namespace ropewalk
