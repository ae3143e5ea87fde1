#pragma once

#include "ropewalk/analysis/run/change.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The change of the loss from one checkpoint to another, in nats per token. Where both read the
// same documents, the error is that of the paired difference; else both errors are combined as
// independent. NaN where the loss of one of them was not measured.
Change loss_change(const CheckpointTable& from, const CheckpointTable& to);

}  // namespace ropewalk
