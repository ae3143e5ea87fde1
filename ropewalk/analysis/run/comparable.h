#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Whether checkpoints can stand in one table. Throws InputError naming two of them where they have
// other layers or heads, or where one was captured before RoPE and the other after it. Returns, as
// sentences, what weakens their comparison: other documents or blocks (errors of differences are
// then joined as if independent), another dtype or device, another model. What a checkpoint does
// not say about itself is not held against it.
std::vector<std::string> check_comparable(const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
