#pragma once

#include "ropewalk/base/json.h"
#include "ropewalk/figures/checkpoint_axis.h"

namespace ropewalk {

// The most components that a checkpoint has of a reading whose components are shares of a whole.
size_t most_components(const CheckpointAxis& axis, size_t reading);

// A view of such shares, stacked, at every checkpoint; what it draws goes to `datasets`.
Json component_shares(const CheckpointAxis& axis, size_t reading, Json& datasets);

}  // namespace ropewalk
