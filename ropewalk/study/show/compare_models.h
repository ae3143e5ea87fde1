#pragma once

#include <string>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Compares a run's means over heads with those of other models, as text: one row per model, then
// one per checkpoint. `section` is a reference's "other_models": `about` (text), `context` (tokens)
// and `models`, each with means under keys of summary.json. Empty where the run has none of these
// means. Throws InputError naming `source` and the key where the section has another form.
std::string compare_with_models(const RunNumbers& run, const Json& section,
                                const std::string& source);

}  // namespace ropewalk
