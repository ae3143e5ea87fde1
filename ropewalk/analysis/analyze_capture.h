#pragma once

#include "ropewalk/analysis/head_table.h"
#include "ropewalk/moments/moments_file.h"

namespace ropewalk {

// Every query head of a capture, `components` components each, spread over all cores. `source`
// names the file in the InputError of a head without its keys.
CheckpointAnalysis analyze_capture(const CaptureMoments& moments, int64_t components,
                                   const std::string& source);

}  // namespace ropewalk
