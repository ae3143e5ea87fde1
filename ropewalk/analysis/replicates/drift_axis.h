#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Covariance with position of queries and keys together, about their own means: [replicates, d].
at::Tensor common_drift(const HeadReplicates& head);

// Its direction, along which queries and keys together move with position. NaN where they do not.
at::Tensor drift_axis(const HeadReplicates& head);

// Whether the drift of the whole sample is less than twice its standard error, both taken as
// lengths: then its direction means nothing. True without any drift.
bool no_drift(const HeadReplicates& head);

}  // namespace ropewalk
