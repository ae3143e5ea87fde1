#pragma once

#include <cstdint>
#include <limits>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/moments_collector.h"

namespace ropewalk {

class Communicator;

// With a target, documents are read in rounds, after each of which standard errors are looked at.
// How many documents of the corpus a round takes, and where the next one ends.
int64_t target_round(const Communicator& processes, int64_t shards = 1);
int64_t round_after(int64_t documents, const Communicator& processes);

// Whether the standard errors of mean r_q and mean r_k, of what all `processes` have gathered,
// still exceed the target. `info` describes the capture; `memory` is what the cores that look may
// take (analysis/analyze_streams.h). Collective.
bool misses_target(const MomentsCollector& collector, const CaptureInfo& info, double target,
                   const Communicator& processes,
                   int64_t memory = std::numeric_limits<int64_t>::max());

}  // namespace ropewalk
