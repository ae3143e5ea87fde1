#pragma once

#include "ropewalk/analysis/analyze/analyze_streams.h"
#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/moments/files/moments_file.h"

namespace ropewalk {

// Analyses every query head of a capture, with `components` components each. The work is spread
// over all cores, or over as many as fit into `memory` (analyze_streams.h). `source` names the file
// in the InputError about a head without keys.
CheckpointTable analyze_capture(const CaptureMoments& moments, int64_t components,
                                const std::string& source, int64_t memory = kAnyMemory);

// Blocks that hold documents; empty where the file keeps no sums per block.
std::vector<int64_t> nonempty_blocks(const CaptureMoments& moments);

// The moments of one stream, in total and in each of these blocks.
StreamInput stream_of(const StreamSet& set, int64_t row, const BlockCounts& counts,
                      const std::vector<int64_t>& blocks);

}  // namespace ropewalk
