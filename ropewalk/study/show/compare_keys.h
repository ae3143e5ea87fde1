#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The key of a reference that holds other models (compare_models.h).
constexpr const char* kOtherModels = "other_models";

// The keys of a reference that are compared: those of summary.json, and other_models.
std::vector<std::string> compared_keys();

// A key that resembles one of the compared keys is a typing error, and would be ignored silently.
// Throws InputError naming `source`, the key and the one that is probably meant.
void check_reference_keys(const Json& reference, const std::string& source);

// The reason why a run has no number for a compared key, and what to do.
std::string why_without_numbers(const RunNumbers& run);

}  // namespace ropewalk
