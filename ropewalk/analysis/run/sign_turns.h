#pragma once

#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {

// Heads of a group whose r_q and r_k could have the other sign within the error (carried_signs.h).
std::vector<size_t> uncertain_signs(const HeadGroup& group);  // indexes in the group

// What these heads add to the error of the group's mean r_q or r_k: the spread of the mean over
// resampled blocks (resampling.h), in each of which the sign rule is applied again. 0 where there
// are none.
double turning_error(const HeadGroup& group, size_t statistic);

}  // namespace ropewalk
