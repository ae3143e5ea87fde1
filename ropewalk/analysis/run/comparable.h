#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Checks whether checkpoints fit into one table. Throws InputError naming two of them where they
// differ in layers or heads, or where one was captured before RoPE and the other after it. Returns
// warnings about what weakens their comparison, as sentences: other documents or blocks (errors of
// differences are then computed as for independent samples), another dtype or device, another
// model. Properties that a checkpoint does not state are not compared.
std::vector<std::string> check_comparable(const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
