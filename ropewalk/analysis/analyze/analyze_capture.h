#pragma once

#include "ropewalk/analysis/analyze/analyze_streams.h"
#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/moments/files/moments_file.h"

namespace ropewalk {

// Every query head of a capture, `components` components each, spread over all cores, or over as
// many as have enough of `memory` (analyze_streams.h). `source` names the file in the InputError of
// a head without its keys. Which distances heads prefer is asked below `span`, the smallest context
// of a study's checkpoints, so that they compare; 0: below the capture's own. `probes`: the
// checkpoint's capture of probes, if it has one.
CheckpointTable analyze_capture(const CaptureMoments& moments, int64_t components,
                                const std::string& source, int64_t memory = kAnyMemory,
                                int64_t span = 0, const CaptureMoments* probes = nullptr);

// Blocks that hold documents; empty where the file keeps no sums per block.
std::vector<int64_t> nonempty_blocks(const CaptureMoments& moments);

// The moments of one stream, in total and in each of these blocks.
StreamInput stream_of(const StreamSet& set, int64_t row, const BlockCounts& counts,
                      const std::vector<int64_t>& blocks);

}  // namespace ropewalk
