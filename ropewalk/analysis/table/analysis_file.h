#pragma once

#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// An analysis as bytes, exact to the last bit. While a run grows, its tables are made from these,
// so that a checkpoint is analysed only once. Another edition of the program refuses them.
std::string pack_analysis(CheckpointTable analysis);

// Throws InputError naming `source` where the bytes are damaged or come from another edition.
CheckpointTable unpack_analysis(std::string_view bytes, const std::string& source);

}  // namespace ropewalk
