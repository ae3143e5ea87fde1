#pragma once

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/moments_collector.h"

namespace ropewalk {

// Whether the standard errors of mean r_q and mean r_k, of what all processes have gathered, still
// exceed the target. `info` describes the capture. Collective.
bool misses_target(const MomentsCollector& collector, const CaptureInfo& info, double target);

}  // namespace ropewalk
