#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Two checkpoints share PC0 where the overlap is at least this.
inline constexpr double kSameAxis = 0.7;

// Flags of heads.csv.
inline constexpr const char* kAxisChanged = "axis_changed";
inline constexpr const char* kSignUncertain = "sign_uncertain";

// Follows each head's PC0 along a run, whose checkpoints must be in order. Fills pc0_overlap,
// r_q_run, r_k_run and the signs of the axes. The rule that gives r_q and r_k their sign looks at
// one checkpoint at a time, so it can flip an axis that did not move. Here the first trained
// checkpoint follows the rule, and the next ones keep the sign of the axis that they share with it.
// A head whose axis changed gets a flag, and the sign with which it points along the drift axis.
// Another flag says where the rule's sign depends on a number within two standard errors of the
// threshold. Baselines are not part of the run. Where checkpoints were measured at several
// contexts, each context is followed separately, beginning with the signs at the next shorter one
// (run_order.h).
void carry_signs(std::vector<CheckpointTable>& checkpoints);

// Whether, within two standard errors, the sign rule could have given r_q and r_k on PC0 the other
// sign.
bool sign_uncertain(double r_q, double r_q_se, double r_k, double r_k_se);

}  // namespace ropewalk
