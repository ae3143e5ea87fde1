#pragma once

#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// An analysis as bytes, to the last bit: of a run that grows, tables are made of these, and what
// was analyzed once is not analyzed again. Another edition of the program does not read them.
std::string pack_analysis(CheckpointTable analysis);

// Throws InputError naming `source` where the bytes are damaged or of another edition.
CheckpointTable unpack_analysis(std::string_view bytes, const std::string& source);

}  // namespace ropewalk
