#pragma once

#include <string>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A run's numbers beside a reference's, as text: value, standard error, reference, difference, and
// the difference in standard errors, for every label that both have; and which labels and numbers
// only one has. A reference has keys of summary.json (means over heads, taxonomy, means by depth)
// with plain numbers or {value, se} as leaves, so another run's summary serves too, and may have
// other_models (compare_models.h); further keys may be there. Throws InputError naming `source` and
// the key where it is not so, where a key looks like a mistyped one of these, and where the two
// share nothing.
std::string compare_with_reference(const RunNumbers& run, const Json& reference,
                                   const std::string& source);

}  // namespace ropewalk
