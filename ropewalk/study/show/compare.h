#pragma once

#include <string>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Compares a run's numbers with a reference's, as text: value, standard error, reference,
// difference, and the difference in standard errors, for every label that both have; and which
// labels and numbers only one has. A reference has keys of summary.json (means over heads,
// taxonomy, means by depth) with plain numbers or {value, se} as leaves, so that another run's
// summary can be used, and may have other_models (compare_models.h); further keys are ignored.
// Throws InputError naming `source` and the key where the reference has another form, where a key
// looks like a mistyped one of these, and where the two have nothing in common.
std::string compare_with_reference(const RunNumbers& run, const Json& reference,
                                   const std::string& source);

}  // namespace ropewalk
