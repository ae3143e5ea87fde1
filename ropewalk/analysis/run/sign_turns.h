#pragma once

#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {

// Heads of a group whose r_q and r_k could as well have the other sign (carried_signs.h).
std::vector<size_t> uncertain_signs(const HeadGroup& group);  // places in the group

// What those heads add to the error of the mean of r_q or r_k over the group: the spread of the
// mean over resamples of blocks (resampling.h) in which the sign rule is applied again. 0 where
// there are none.
double turning_error(const HeadGroup& group, size_t statistic);

}  // namespace ropewalk
