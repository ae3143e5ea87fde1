#pragma once

#include "ropewalk/study/show/exported.h"

namespace ropewalk {

// One direction per KV head, along which queries lie, in the form that Q-Filters reads: for every
// query head the first eigenvector of its second moments about zero, after RoPE, pointing away from
// the mean; averaged over the query heads that read the same keys. Throws InputError where the
// capture was taken before RoPE.
ExportedModel export_to_q_filters(const ExportSource& source);

// A direction's sign is weak where the mean along it is less than this share of the root mean
// square.
inline constexpr double kWeakSign = 0.2;

}  // namespace ropewalk
