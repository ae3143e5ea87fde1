#pragma once

#include <cstdint>
#include <string>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Compares the contexts at which a run and a reference were measured, as text, for labels that both
// have. A reference states them in `checkpoints`, as summary.json does: a list of {label, context}.
// Empty where neither states any. Throws InputError naming `source` and the label where a context
// is not a number of tokens.
std::string compare_contexts(const RunNumbers& run, const Json& reference,
                             const std::string& source);

// "4096", or a dash where it is 0: unknown.
std::string context_cell(int64_t context, int width);

}  // namespace ropewalk
