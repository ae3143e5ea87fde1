#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The key of a reference under which other models stand (compare_models.h).
constexpr const char* kOtherModels = "other_models";

// Keys of a reference that are compared: of summary.json, and other_models.
std::vector<std::string> compared_keys();

// A key that is nearly one of those compared is one mistyped: it would be left out silently. Throws
// InputError naming `source`, the key and what is meant.
void check_reference_keys(const Json& reference, const std::string& source);

// Why a run has no number of a key that is compared, and what to do.
std::string why_without_numbers(const RunNumbers& run);

}  // namespace ropewalk
