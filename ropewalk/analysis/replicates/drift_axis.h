#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Covariance with position of queries and keys together, about their own means: [replicates, d].
at::Tensor common_drift(const HeadReplicates& head);

// The direction of common_drift(). NaN where queries and keys do not move.
at::Tensor drift_axis(const HeadReplicates& head);

// Whether the length of the whole sample's drift is less than twice the length of its standard
// error: then its direction means nothing. True where there is no drift at all.
bool no_drift(const HeadReplicates& head);

}  // namespace ropewalk
