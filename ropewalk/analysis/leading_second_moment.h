#pragma once

#include "ropewalk/analysis/head_cases.h"

namespace ropewalk {

// The largest eigenvalue of a stream's second moments about 0, n (Σ + μμᵀ): [cases]. All cases are
// near to the first, from which a few steps start; where these do not settle it, the whole problem
// is solved.
at::Tensor leading_second_moment(const StreamCases& stream);

}  // namespace ropewalk
