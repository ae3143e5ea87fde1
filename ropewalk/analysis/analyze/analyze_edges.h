#pragma once

#include "ropewalk/analysis/analyze/analyze_head.h"

namespace ropewalk {

// Adds the edges of one head to a checkpoint, where its rows were kept; texts are left empty.
void add_edges(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head);

}  // namespace ropewalk
