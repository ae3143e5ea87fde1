#pragma once

#include "ropewalk/moments/moments.h"

namespace ropewalk {

// Moments of all processes together (base/processes.h). Every process moves its own to the mean of
// all, which adds what the joining formula of join_moments adds, and then they are plain sums. A
// block that one process alone has read comes out bit for bit as that process had it.

// Counts and positions of all processes. Collective.
BlockCounts joint_counts(const BlockCounts& mine);

// Turns this process's moments into those of all, in the first process; in the others they are
// lost. `mine` and `all` are the counts that go with them. Collective.
void join_in_first(const StreamMoments& moments, const BlockCounts& mine, const BlockCounts& all);

}  // namespace ropewalk
